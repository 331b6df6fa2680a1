/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The allocator of page frames; see frame.h for what a frame is.
 *
 * A frame comes to exist when it is first needed: pfns are handed out upwards and
 * `nr_frames` says how far. A freed frame goes to the free list of its node, from
 * which the last one freed is taken first, so that a scenario gives the same pfns
 * in every run. Which node a pfn belongs to is decided when it is first used: a
 * machine has as many frames of each node as its processes ask for, up to the limit.
 *
 * Blocks of FRAME_BLOCK frames are looked up through an array of pointers. They
 * are allocated in extents: 1, 1, 2, 4 ... blocks, so a machine of ten pages costs
 * one small allocation that is not even cleared, and a machine of millions gets
 * 2 MiB extents which the host may back with huge pages of its own: walks jump
 * between frames, and would otherwise measure the host's TLB. The sizes follow
 * from the index of the first block alone, so nothing need remember them.
 *
 * A huge page needs a whole block. Free lists are linked both ways, so an empty
 * block can be taken out of the middle of them; the count of empty blocks says
 * whether looking for one is worth while. Taking a block over for another node is
 * harmless: nobody can tell where free memory was.
 */
#include "frame.h"

#include <errno.h>
#include <sys/mman.h>

#define EXTENT_BYTES_MAX ((size_t)2 << 20)
#define BLOCK_BYTES (FRAME_BLOCK * sizeof(struct frame))
#define EXTENT_BLOCKS_MAX ((uint32_t)(EXTENT_BYTES_MAX / BLOCK_BYTES))

_Static_assert(sizeof(struct frame) == 48, "there are millions of them");

/* Blocks in the extent whose first block has this index. */
static uint32_t extent_blocks(uint32_t first)
{
	return MIN(MAX(first, 1u), EXTENT_BLOCKS_MAX);
}

static size_t extent_bytes(uint32_t first)
{
	uint32_t blocks = extent_blocks(first);

	return blocks == EXTENT_BLOCKS_MAX ? EXTENT_BYTES_MAX : blocks * BLOCK_BYTES;
}

static struct frame_block *block_of(struct frames *frames, const struct frame *frame)
{
	return &frames->blocks[frame->pfn >> FRAME_BLOCK_SHIFT];
}

/* Every pfn of the block exists. */
static bool block_complete(const struct frames *frames, uint32_t block)
{
	return block < frames->nr_frames >> FRAME_BLOCK_SHIFT;
}

static bool grow(struct frames *frames)
{
	uint32_t first = frames->nr_blocks, blocks = extent_blocks(first), i;
	size_t bytes = extent_bytes(first);
	struct frame *extent;

	if (first + blocks > FRAME_MAX >> FRAME_BLOCK_SHIFT)
		return false;
	if (first + blocks > frames->max_blocks) {
		uint32_t max = MAX(2 * frames->max_blocks, first + MAX(blocks, 4u));
		struct frame_block *array;

		array = mem_realloc(frames->mem, frames->blocks,
				    frames->max_blocks * sizeof(*array), max * sizeof(*array));
		if (!array)
			return false;
		frames->blocks = array;
		frames->max_blocks = max;
	}
	if (first)
		extent = mem_alloc_aligned(frames->mem, bytes == EXTENT_BYTES_MAX ? bytes : 64, bytes);
	else
		extent = mem_alloc_prefix(frames->mem, 64, bytes);
	if (!extent)
		return false;
	/* A refusal costs nothing but speed. */
	if (bytes == EXTENT_BYTES_MAX)
		(void)madvise(extent, bytes, MADV_HUGEPAGE);
	for (i = 0; i < blocks; i++) {
		frames->blocks[first + i].frames = extent + (size_t)i * FRAME_BLOCK;
		frames->blocks[first + i].nr_used = 0;
	}
	frames->nr_blocks += blocks;
	return true;
}

static void free_push(struct frames *frames, struct frame *frame)
{
	uint32_t *head = &frames->node[frame->nid].free;

	frame->swap = *head;
	frame->index = PFN_NONE;
	if (*head != PFN_NONE)
		frame_of_pfn(frames, *head)->index = frame->pfn;
	*head = frame->pfn;
}

static void free_remove(struct frames *frames, struct frame *frame)
{
	if (frame->index == PFN_NONE)
		frames->node[frame->nid].free = frame->swap;
	else
		frame_of_pfn(frames, (uint32_t)frame->index)->swap = frame->swap;
	if (frame->swap != PFN_NONE)
		frame_of_pfn(frames, frame->swap)->index = frame->index;
}

static void set_fresh(struct frame *frame, uint32_t flags)
{
	frame->flags = (uint16_t)flags;
	frame->nr_holds = 0;
	frame->refcount = 1;
	frame->mapcount = 0;
	frame->checksum = 0;
	frame->mapping = 0;
	frame->index = 0;
	frame->content = CONTENT_ZERO;
	frame->swap = 0;
}

static void set_free(struct frame *frame)
{
	/* Whoever still uses a freed frame gets junk; but its mapping must read as 0 (K3). */
	if (SP_DEBUG_LEVEL >= 1) {
		frame->checksum = 0x6b6b6b6b;
		frame->content = (content_t)UINT64_C(0x6b6b6b6b6b6b6b6a);
	}
	frame->flags = 0;
	frame->nr_holds = 0;
	frame->refcount = 0;
	frame->mapcount = 0;
	frame->mapping = 0;
}

/* The first pfn that does not exist yet, which lies in an allocated block. */
static struct frame *create(struct frames *frames, uint32_t nid)
{
	struct frame *frame = frame_of_pfn(frames, frames->nr_frames++);

	frame->pfn = frames->nr_frames - 1;
	frame->nid = nid;
	/* The first extent is a block, of which a tiny machine needs a few frames. */
	if (frame->pfn < FRAME_BLOCK)
		mem_use_prefix(frames->mem, frames->blocks[0].frames,
			       frames->nr_frames * sizeof(*frame));
	return frame;
}

int frames_init(struct frames *frames, struct mem *mem, uint32_t nr_nodes, uint64_t limit_per_node,
		uint32_t content_bytes)
{
	uint32_t i;

	SP_ASSERT(nr_nodes >= 1 && nr_nodes <= FRAME_NODES_MAX);
	mem_clear(frames, sizeof(*frames));
	frames->mem = mem;
	frames->nr_nodes = nr_nodes;
	frames->limit_per_node = limit_per_node;
	content_store_init(&frames->content, mem, content_bytes);
	for (i = 0; i < nr_nodes; i++)
		frames->node[i].free = PFN_NONE;
	if (!grow(frames)) {
		frames_destroy(frames);
		return -ENOMEM;
	}
	frames->zero = create(frames, 0);
	set_fresh(frames->zero, FRAME_ZERO);
	frames->blocks[0].nr_used = 1;
	return 0;
}

void frames_destroy(struct frames *frames)
{
	uint32_t pfn, first;

	for (pfn = 0; pfn < frames->nr_frames; pfn++) {
		struct frame *frame = frame_of_pfn(frames, pfn);

		if (frame->refcount)
			content_free(&frames->content, frame->content);
	}
	for (first = 0; first < frames->nr_blocks; first += extent_blocks(first))
		mem_free(frames->mem, frames->blocks[first].frames, extent_bytes(first));
	mem_free(frames->mem, frames->blocks, frames->max_blocks * sizeof(*frames->blocks));
	content_store_destroy(&frames->content);
	memset(frames, 0, sizeof(*frames));
}

/* The node to take `count` frames from: nid or the next that has room; -1: none. */
static int node_with_room(const struct frames *frames, int nid, uint32_t count)
{
	uint32_t first = nid < 0 ? 0 : (uint32_t)nid, i;

	SP_ASSERT(first < frames->nr_nodes);
	for (i = 0; i < frames->nr_nodes; i++) {
		uint32_t node = first + i;

		if (node >= frames->nr_nodes)
			node -= frames->nr_nodes;
		if (frames->node[node].offline)
			continue;
		if (!frames->limit_per_node ||
		    (uint64_t)frames->node[node].nr_used + count <= frames->limit_per_node)
			return (int)node;
	}
	return -1;
}

struct frame *frame_alloc(struct frames *frames, int nid)
{
	int node = node_with_room(frames, nid, 1);
	struct frame_block *block;
	struct frame *frame;

	if (mem_should_fail(frames->mem) || node < 0)
		return NULL;
	if (frames->node[node].free != PFN_NONE) {
		frame = frame_of_pfn(frames, frames->node[node].free);
		block = block_of(frames, frame);
		free_remove(frames, frame);
		if (!block->nr_used && block_complete(frames, frame->pfn >> FRAME_BLOCK_SHIFT))
			frames->nr_empty_blocks--;
	} else {
		if (frames->nr_frames == frames->nr_blocks << FRAME_BLOCK_SHIFT && !grow(frames))
			return NULL;
		frame = create(frames, (uint32_t)node);
		block = block_of(frames, frame);
	}
	set_fresh(frame, 0);
	block->nr_used++;
	frames->node[node].nr_used++;
	frames->nr_used++;
	return frame;
}

/* Makes the rest of the last block exist, as free frames of a node. */
static void complete_last_block(struct frames *frames, uint32_t nid)
{
	uint32_t first = frames->nr_frames, block = first >> FRAME_BLOCK_SHIFT, pfn;

	if (!(first & (FRAME_BLOCK - 1)))
		return;
	while (frames->nr_frames & (FRAME_BLOCK - 1))
		set_free(create(frames, nid));
	/* From the top, so that the lowest is the next one taken. */
	for (pfn = frames->nr_frames; pfn-- > first;)
		free_push(frames, frame_of_pfn(frames, pfn));
	if (!frames->blocks[block].nr_used)
		frames->nr_empty_blocks++;
}

struct frame *frame_alloc_huge(struct frames *frames, int nid)
{
	int node = node_with_room(frames, nid, HPAGE_PMD_NR);
	uint32_t block = 0, i;
	struct frame *head;

	_Static_assert(FRAME_BLOCK == HPAGE_PMD_NR, "a huge page is a block");
	if (mem_should_fail(frames->mem) || node < 0)
		return NULL;
	complete_last_block(frames, (uint32_t)node);
	if (frames->nr_empty_blocks) {
		while (frames->blocks[block].nr_used)
			block++;
		frames->nr_empty_blocks--;
		for (i = 0; i < FRAME_BLOCK; i++)
			free_remove(frames, &frames->blocks[block].frames[i]);
	} else {
		block = frames->nr_frames >> FRAME_BLOCK_SHIFT;
		if (block == frames->nr_blocks && !grow(frames))
			return NULL;
		for (i = 0; i < FRAME_BLOCK; i++)
			create(frames, (uint32_t)node);
	}
	head = frames->blocks[block].frames;
	for (i = 0; i < FRAME_BLOCK; i++) {
		head[i].nid = (uint32_t)node;
		set_fresh(&head[i], i ? FRAME_TAIL : FRAME_HEAD);
	}
	frames->blocks[block].nr_used = FRAME_BLOCK;
	frames->node[node].nr_used += HPAGE_PMD_NR;
	frames->nr_used += HPAGE_PMD_NR;
	return head;
}

void frame_put(struct frames *frames, struct frame *frame)
{
	struct frame_block *block;

	SP_ASSERT(frame->refcount > 0);
	if (--frame->refcount)
		return;
	SP_ASSERT(!(frame->flags & (FRAME_ZERO | FRAME_LOCKED | FRAME_SWAPCACHE | FRAME_FILE)));
	SP_ASSERT(frame->mapcount == 0 && frame->nr_holds == 0);
	content_free(&frames->content, frame->content);
	set_free(frame);
	free_push(frames, frame);
	block = block_of(frames, frame);
	SP_ASSERT(block->nr_used > 0);
	if (!--block->nr_used && block_complete(frames, frame->pfn >> FRAME_BLOCK_SHIFT))
		frames->nr_empty_blocks++;
	frames->node[frame->nid].nr_used--;
	frames->nr_used--;
}

void frame_retire(struct frames *frames, struct frame *frame)
{
	SP_ASSERT(frame->refcount == 1 && frame->mapcount == 0 && frame->nr_holds == 0);
	SP_ASSERT(!(frame->flags & (FRAME_ZERO | FRAME_LOCKED | FRAME_SWAPCACHE | FRAME_FILE)));
	content_free(&frames->content, frame->content);
	set_fresh(frame, FRAME_RETIRED);
	frames->node[frame->nid].nr_retired++;
}

void frames_set_offline(struct frames *frames, uint32_t nid, bool offline)
{
	SP_ASSERT(nid < frames->nr_nodes);
	frames->node[nid].offline = offline;
}

int frames_next_node(const struct frames *frames, uint32_t nid)
{
	for (uint32_t i = 1; i <= frames->nr_nodes; i++) {
		uint32_t next = (nid + i) % frames->nr_nodes;

		if (!frames->node[next].offline)
			return (int)next;
	}
	return -1;
}

int frame_write(struct frames *frames, struct frame *frame, uint32_t offset, const void *buf,
		uint32_t length)
{
	int err;

	SP_ASSERT(frame->refcount > 0 && !(frame->flags & FRAME_ZERO));
	err = content_write(&frames->content, &frame->content, offset, buf, length);
	if (err)
		return err;
	frame->flags &= (uint16_t)~FRAME_SUM_VALID;
	if (length == frames->content.bytes)
		frame->flags &= (uint16_t)~FRAME_UNKNOWN;
	return 0;
}

void frame_set_content(struct frames *frames, struct frame *frame, content_t content)
{
	SP_ASSERT(frame->refcount > 0 && !(frame->flags & FRAME_ZERO));
	content_free(&frames->content, frame->content);
	frame->content = content;
	frame->flags &= (uint16_t)~(FRAME_SUM_VALID | FRAME_UNKNOWN);
}

int frame_copy_content(struct frames *frames, struct frame *dst, const struct frame *src)
{
	content_t copy;
	int err;

	SP_ASSERT(src->refcount > 0);
	err = content_copy(&frames->content, src->content, &copy);
	if (err)
		return err;
	frame_set_content(frames, dst, copy);
	dst->checksum = src->checksum;
	dst->flags |= src->flags & (FRAME_SUM_VALID | FRAME_UNKNOWN);
	return 0;
}

uint32_t frame_checksum(struct frames *frames, struct frame *frame)
{
	SP_ASSERT(frame->refcount > 0);
	if (!(frame->flags & FRAME_SUM_VALID)) {
		frame->checksum = content_checksum(&frames->content, frame->content);
		frame->flags |= FRAME_SUM_VALID;
	}
	return frame->checksum;
}

struct frame *frame_row(struct frames *frames, const struct frame *frame)
{
	return block_of(frames, frame)->frames;
}

void frame_split_huge(struct frames *frames, struct frame *frame)
{
	struct frame *head = frame_row(frames, frame);
	uint32_t i;

	SP_ASSERT(frame_is_large(frame));
	for (i = 0; i < HPAGE_PMD_NR; i++)
		head[i].flags &= (uint16_t)~(FRAME_HEAD | FRAME_TAIL);
}

/* What the frames themselves say, by node. */
struct node_counts {
	uint64_t used, retired;
};

static bool retired_is_bare(const struct frame *frame)
{
	return frame->flags == FRAME_RETIRED && frame->refcount == 1 && !frame->mapcount &&
	       !frame->mapping && !frame->nr_holds && frame->content == CONTENT_ZERO;
}

/* The block's frames agree with its count; adds to what the nodes have used. */
static const char *validate_block(const struct frames *frames, uint32_t block,
				  struct node_counts *nodes)
{
	uint32_t first = block << FRAME_BLOCK_SHIFT, nr_used = 0, pfn;
	uint32_t end = MIN(first + FRAME_BLOCK, frames->nr_frames);

	for (pfn = first; pfn < end; pfn++) {
		const struct frame *frame = frame_of_pfn(frames, pfn);

		if (frame->pfn != pfn)
			return "a frame has the wrong pfn";
		if (frame->nid >= frames->nr_nodes)
			return "a frame is on a node that does not exist";
		if (frame->refcount < 0 || frame->mapcount < 0)
			return "a frame has a negative count";
		if (!frame->refcount && (frame->mapping || frame->mapcount || frame->flags))
			return "a free frame has a mapping, a mapcount or flags";
		if (!(frame->flags & FRAME_ZERO) != (frame != frames->zero))
			return "a frame other than pfn 0 is the zero page";
		if ((frame->flags & FRAME_RETIRED) && !retired_is_bare(frame))
			return "a retired frame is in use";
		if (frame->refcount) {
			nr_used++;
			if (frame != frames->zero)
				nodes[frame->nid].used++;
			nodes[frame->nid].retired += !!(frame->flags & FRAME_RETIRED);
		}
	}
	return nr_used == frames->blocks[block].nr_used ? NULL : "a block's count of used frames";
}

/* The free list is linked both ways and holds frames of this node alone. */
static const char *validate_free_list(const struct frames *frames, uint32_t nid, uint64_t *nr_free)
{
	uint32_t pfn = frames->node[nid].free, before = PFN_NONE;

	while (pfn != PFN_NONE) {
		const struct frame *frame;

		if (pfn >= frames->nr_frames)
			return "a free list leads to a pfn that does not exist";
		frame = frame_of_pfn(frames, pfn);
		if (frame->refcount || frame->nid != nid || frame->index != before)
			return "a free list holds a frame that is used, misplaced or mislinked";
		if (++*nr_free > frames->nr_frames)
			return "a free list is a circle";
		before = pfn;
		pfn = frame->swap;
	}
	return NULL;
}

const char *frames_validate(const struct frames *frames)
{
	struct node_counts nodes[FRAME_NODES_MAX] = { 0 };
	uint64_t nr_free = 0, nr_used = 0;
	uint32_t nr_empty = 0, i;
	const char *wrong;

	if (frames->zero != frame_of_pfn(frames, 0) || frames->zero->refcount < 1)
		return "pfn 0 is not the zero page";
	for (i = 0; i << FRAME_BLOCK_SHIFT < frames->nr_frames; i++) {
		wrong = validate_block(frames, i, nodes);
		if (wrong)
			return wrong;
		nr_empty += !frames->blocks[i].nr_used && block_complete(frames, i);
	}
	if (nr_empty != frames->nr_empty_blocks)
		return "the count of empty blocks";
	for (i = 0; i < frames->nr_nodes; i++) {
		if (nodes[i].used != frames->node[i].nr_used)
			return "a node's count of used frames";
		if (nodes[i].retired != frames->node[i].nr_retired)
			return "a node's count of retired frames";
		if (frames->node[i].offline && nodes[i].used != nodes[i].retired)
			return "a node that is offline has frames in use";
		if (frames->limit_per_node && nodes[i].used > frames->limit_per_node)
			return "a node has more frames than its limit";
		nr_used += nodes[i].used;
		wrong = validate_free_list(frames, i, &nr_free);
		if (wrong)
			return wrong;
	}
	if (nr_used != frames->nr_used)
		return "the count of used frames";
	/* The zero page is neither. */
	if (nr_used + nr_free + 1 != frames->nr_frames)
		return "a free frame is on no free list";
	return NULL;
}
