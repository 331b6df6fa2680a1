/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Page frames and their metadata, by page frame number (pfn).
 *
 * One struct frame for each frame that was ever used, in an array that grows
 * by blocks and never moves, so a pfn becomes a pointer in two loads, and a
 * frame knows its pfn. 48 bytes a frame: there are millions.
 *
 * References. refcount is exactly
 *
 *	mapcount (one for each PTE, one in every subframe for a PMD)
 *	+ 1 if FRAME_SWAPCACHE
 *	+ 1 if FRAME_FILE (the page cache's)
 *	+ nr_holds (sp_hold: someone else's, e.g. a pipe's)
 *	+ 1 if FRAME_RETIRED (nobody's: it must never be free again)
 *	+ transient references of the operation now running
 *
 * and 0 means free. sp_validate() recounts this. Migration and swap entries
 * hold no reference on a frame. The zero page is outside of all this.
 *
 * Identity. `mapping` says whose page it is, as the kernel's folio->mapping:
 *
 *	0                       free, or an anonymous page not yet mapped
 *	anon_vma | MAPPING_ANON an anonymous page; index is its linear index
 *	node | MAPPING_KSM      a KSM page; node may be 0 between write-protect
 *	                        and insertion (K25); index is meaningless (K4)
 *	file | 0                a page of a file
 *
 * A free frame's mapping is 0 until the frame is used again: that is how a stable
 * node, which holds no reference, notices that its page is gone (K3).
 *
 * A huge page is HPAGE_PMD_NR frames in a row, the first with FRAME_HEAD, the
 * rest FRAME_TAIL; every frame keeps its own counts, contents and index, so
 * that splitting a folio is clearing these flags. A frame is freed as soon as nothing
 * refers to it: what is left of a large folio is the frames of its row that have
 * one of the flags.
 *
 * Nodes go offline and online as a whole. A node that is offline gives no frames;
 * that none of its frames is in use then is the caller's to see to, who moves
 * them away (rmap/offline.c). Frames that were retired stay where they are.
 *
 * Locks: FRAME_LOCKED is the folio lock (rank folio_lock): it protects mapping,
 * FRAME_SWAPCACHE and, for a KSM page, the list of rmap_items (K26a). The rest is
 * protected by the machine's one-thread rule.
 *
 *	struct frame *frame = frame_alloc(&frames, nid);	// refcount 1
 *	frame_get(frame);					// 2
 *	frame_put(&frames, frame);
 *	frame_put(&frames, frame);				// free
 */
#ifndef SP_FRAME_H
#define SP_FRAME_H

#include "assertion.h"
#include "content.h"
#include "rank.h"

#define MAPPING_ANON ((uintptr_t)1)
#define MAPPING_KSM ((uintptr_t)3)
#define MAPPING_FLAGS ((uintptr_t)3)

enum frame_flags {
	FRAME_LOCKED = 1u << 0,
	FRAME_SWAPCACHE = 1u << 1,   /* frame->swap is its slot */
	FRAME_FILE = 1u << 2,        /* in a file's page cache */
	FRAME_ZERO = 1u << 3,        /* the zero page; never counted, never freed */
	FRAME_EXCLUSIVE = 1u << 4,   /* PageAnonExclusive: this mm may write in place */
	FRAME_DIRTY = 1u << 5,
	FRAME_REFERENCED = 1u << 6,  /* marked accessed once */
	FRAME_ACTIVE = 1u << 7,
	FRAME_MLOCKED = 1u << 8,     /* unevictable: mapped in a locked VMA */
	FRAME_HEAD = 1u << 9,
	FRAME_TAIL = 1u << 10,
	FRAME_SUM_VALID = 1u << 11,  /* checksum is that of the contents */
	FRAME_UNKNOWN = 1u << 12,    /* real memory that could not be read */
	FRAME_ORPHANED = 1u << 13,   /* migration entries were left pointing here (V2) */
	FRAME_RETIRED = 1u << 14,    /* in use by nobody, for good (soft-offline); the only flag */
};

struct frame {
	uint16_t flags;      /* FRAME_*; all are below 1 << 16 */
	uint16_t nr_holds;
	int32_t refcount;
	int32_t mapcount;
	uint32_t checksum;   /* cached; see FRAME_SUM_VALID */
	uintptr_t mapping;
	uint64_t index;      /* when free: pfn before it on the free list */
	content_t content;
	uint32_t swap;       /* slot when FRAME_SWAPCACHE; when free: next free pfn */
	uint32_t pfn : 26;   /* immutable */
	uint32_t nid : 6;    /* immutable while in use */
};

/* A block is what a huge page covers, so that "all free" is one comparison. */
#define FRAME_BLOCK_SHIFT HPAGE_PMD_ORDER
#define FRAME_BLOCK (1u << FRAME_BLOCK_SHIFT)
#define FRAME_MAX (1u << 26)
#define FRAME_NODES_MAX 64u
#define PFN_NONE UINT32_MAX

struct frame_block {
	struct frame *frames;         /* FRAME_BLOCK of them */
	uint32_t nr_used;
};

struct frames {
	struct mem *mem;
	struct content_store content;
	struct frame_block *blocks;
	uint32_t nr_blocks, max_blocks; /* allocated; size of the array */
	uint32_t nr_empty_blocks;     /* complete (all below nr_frames), and all free */
	uint32_t nr_frames;           /* pfns that exist: [0, nr_frames), free or used */
	uint32_t nr_used;             /* without the zero page */
	uint32_t nr_nodes;
	uint64_t limit_per_node;      /* 0: none */
	struct {
		uint32_t free;        /* last-in first-out; PFN_NONE: empty */
		uint32_t nr_used;
		uint32_t nr_retired;  /* of the used ones */
		bool offline;
	} node[FRAME_NODES_MAX];
	struct frame *zero;           /* the zero page: pfn 0 */
};

/* 0 or -ENOMEM. nr_nodes is 1..FRAME_NODES_MAX. */
int frames_init(struct frames *frames, struct mem *mem, uint32_t nr_nodes, uint64_t limit_per_node,
		uint32_t content_bytes) SP_MUST_CHECK;
/* Frames still in use are freed with their contents: who wants to know of leaks
 * looks at nr_used before. */
void frames_destroy(struct frames *frames);

static inline struct frame *frame_of_pfn(const struct frames *frames, uint32_t pfn)
{
	SP_ASSERT(pfn < frames->nr_frames);
	return &frames->blocks[pfn >> FRAME_BLOCK_SHIFT].frames[pfn & (FRAME_BLOCK - 1)];
}

static inline uint32_t frame_pfn(const struct frames *frames, const struct frame *frame)
{
	(void)frames;
	return frame->pfn;
}

/*
 * A frame with refcount 1, contents zero, mapping 0, on node nid or, when that
 * is full or offline, on the next one that is not (nid < 0: any). NULL: out of frames or of
 * memory. Every call counts as an allocation that mem.h may be told to fail,
 * since it stands for the page allocator of the simulated kernel.
 */
struct frame *frame_alloc(struct frames *frames, int nid) SP_MUST_CHECK;
/*
 * HPAGE_PMD_NR frames in a row, each with refcount 1, first pfn aligned to
 * HPAGE_PMD_NR; flags HEAD and TAIL set. NULL as above.
 */
struct frame *frame_alloc_huge(struct frames *frames, int nid) SP_MUST_CHECK;

static inline void frame_get(struct frame *frame)
{
	SP_ASSERT(frame->refcount > 0);
	frame->refcount++;
}

/*
 * Drops a reference; the last one frees the frame and its contents. By then the
 * caller has unlocked it, unmapped it and taken it off the swap cache.
 */
void frame_put(struct frames *frames, struct frame *frame);

/* Instead of dropping the last reference: the contents go, the frame is never free again. */
void frame_retire(struct frames *frames, struct frame *frame);

/* From here on frames are, or are not, taken from this node. */
void frames_set_offline(struct frames *frames, uint32_t nid, bool offline);
/* The next node after nid, in a circle, that is online; nid itself if it is the only one, or -1. */
int frames_next_node(const struct frames *frames, uint32_t nid);

/*
 * Contents. Writes forget the cached checksum; what replaces the whole page also
 * clears FRAME_UNKNOWN. 0 or -ENOMEM, which leaves the frame as it was.
 */
int frame_write(struct frames *frames, struct frame *frame, uint32_t offset, const void *buf,
		uint32_t length) SP_MUST_CHECK;
/* Replaces the contents; takes `content` over. */
void frame_set_content(struct frames *frames, struct frame *frame, content_t content);
/* Copies src's contents, checksum and FRAME_UNKNOWN: 0 or -ENOMEM. */
int frame_copy_content(struct frames *frames, struct frame *dst,
		       const struct frame *src) SP_MUST_CHECK;
uint32_t frame_checksum(struct frames *frames, struct frame *frame);

static inline int frame_compare(const struct frames *frames, const struct frame *a,
				const struct frame *b)
{
	return content_compare(&frames->content, a->content, b->content);
}

/* Part of a folio of more than one page, whether or not a PMD maps it. */
static inline bool frame_is_large(const struct frame *frame)
{
	return frame->flags & (FRAME_HEAD | FRAME_TAIL);
}

static inline bool frame_is_ksm(const struct frame *frame)
{
	return (frame->mapping & MAPPING_FLAGS) == MAPPING_KSM;
}

/* Anonymous, KSM included, as folio_test_anon(). */
static inline bool frame_is_anon(const struct frame *frame)
{
	return frame->mapping & MAPPING_ANON;
}

static inline void *frame_mapping(const struct frame *frame)
{
	return (void *)(frame->mapping & ~MAPPING_FLAGS);
}

static inline bool frame_trylock(struct frame *frame)
{
	if (frame->flags & FRAME_LOCKED)
		return false;
	frame->flags |= FRAME_LOCKED;
	rank_acquire(RANK_folio_lock, frame, true);
	return true;
}

static inline void frame_lock(struct frame *frame)
{
	SP_ASSERT(!(frame->flags & FRAME_LOCKED));
	rank_acquire(RANK_folio_lock, frame, false);
	frame->flags |= FRAME_LOCKED;
}

static inline void frame_unlock(struct frame *frame)
{
	SP_ASSERT(frame->flags & FRAME_LOCKED);
	rank_release(RANK_folio_lock, frame);
	frame->flags &= (uint16_t)~FRAME_LOCKED;
}

/* The first frame of the aligned row that `frame` is in. */
struct frame *frame_row(struct frames *frames, const struct frame *frame);
/* Clears HEAD and TAIL of what is left of the huge page that `frame` belongs to. */
void frame_split_huge(struct frames *frames, struct frame *frame);

/* Recounts used frames and free lists: NULL or what is wrong. Reference counts
 * are the machine's to recount, which knows the page tables. */
const char *frames_validate(const struct frames *frames);

#endif
