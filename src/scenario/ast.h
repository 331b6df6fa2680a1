/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a parsed scenario is: a list of statements over symbols, ranges and
 * integer expressions. Built by the parser, immutable afterwards, executed any
 * number of times; everything lies in the scenario's arena.
 *
 * NAMES become numbers while parsing, so that executing a line in a loop of
 * millions of rounds looks nothing up. A symbol is a name of one kind; the
 * digits at the end of a name are an index into it (c7 is member 7 of family
 * c), and so is an expression in braces (c{i}). What is 'plain' has neither
 * and is another symbol: c is not a member of c{}.
 *
 * STATEMENTS all have one shape, and a table (op.c) says which of its fields
 * an operation uses. So the checker and the interpreter resolve ranges and
 * values in one place, whatever the operation.
 *
 * A `pos` is a byte of the line, from 0; messages count columns from 1.
 *
 * Locking: none; read only after parsing.
 */
#ifndef SP_AST_H
#define SP_AST_H

#include "arena.h"
#include "linux_version.h"
#include "scenario.h"

/* ---- Symbols --------------------------------------------------------------- */

enum symbol_kind {
	SYMBOL_PROCESS,
	SYMBOL_WINDOW,
	SYMBOL_FILE,
	SYMBOL_HOLD,
	SYMBOL_VARIABLE,
	NR_SYMBOL_KINDS
};

struct symbol {
	const char *text; /* without the index */
	uint32_t length;
	bool indexed;
	uint32_t defined_line; /* of the first definition; 0: used only */
};

struct symbol_table {
	struct symbol *list; /* number = index in it */
	uint32_t nr, room;
	uint32_t *slots;     /* hashed; number + 1, or 0 */
	uint32_t nr_slots;   /* a power of two */
};

/* A name as used: which symbol, and which member of an indexed one. */
struct name_ref {
	uint32_t symbol;
	uint32_t pos;
	struct expr *index; /* NULL: plain */
};

/* ---- Expressions ------------------------------------------------------------- */

enum expr_op {
	EXPR_CONST,
	EXPR_VARIABLE,
	EXPR_COUNTER,      /* of the machine */
	EXPR_PROCESS_STAT, /* a.ksm_merging_pages */
	EXPR_PAGE,         /* mapcount a:x[0] */
	EXPR_NEGATE,
	EXPR_ADD,
	EXPR_SUBTRACT,
	EXPR_MULTIPLY,
	EXPR_DIVIDE,
	EXPR_REMAINDER,
};

/* Functions of a range: name. */
#define SCENARIO_PAGE_FUNCTIONS(X) \
	X(PFN, "pfn")              \
	X(MAPCOUNT, "mapcount")    \
	X(REFCOUNT, "refcount")    \
	X(NODE, "node")            \
	X(INDEX, "index")          \
	X(VMAS, "vmas")            \
	X(PAGES, "pages")

enum page_function {
#define X(upper, name) PAGE_##upper,
	SCENARIO_PAGE_FUNCTIONS(X)
#undef X
	NR_PAGE_FUNCTIONS
};

struct expr {
	enum expr_op op;
	uint32_t pos;
	union {
		int64_t value;                   /* CONST */
		uint32_t variable;               /* VARIABLE: symbol */
		const char *counter;             /* COUNTER */
		struct {                         /* PROCESS_STAT */
			struct name_ref process;
			const char *stat;
		};
		struct {                         /* PAGE */
			enum page_function function;
			struct range *range;
		};
		struct {                         /* NEGATE (a), the others */
			struct expr *a, *b;
		};
	};
};

/* ---- Ranges ------------------------------------------------------------------- */

enum range_kind {
	RANGE_WINDOW,  /* x, x[i], x[i..j], x[i..] */
	RANGE_ADDRESS, /* @0x7f..., @0x7f...[i..j] */
	RANGE_ALL,     /* all: every VMA of the process */
};

struct range {
	enum range_kind kind;
	uint32_t pos;
	bool has_process;
	bool open;               /* x[i..] */
	struct name_ref process;
	struct name_ref window;  /* WINDOW */
	struct expr *address;    /* ADDRESS */
	struct expr *first;      /* NULL: the whole window; one page of an address */
	struct expr *last;       /* NULL: first alone, unless open */
	struct expr *offset;     /* bytes added to the start, or NULL */
	const char *text;        /* as written */
};

/* ---- Statements ---------------------------------------------------------------- */

/*
 * Name, word, flags, usage. Flags: PROC, it needs a process; FAIL, it is an
 * operation that may fail, so `expect errno` may follow it.
 */
#define OP_PLAIN 0
#define OP_PROC 1
#define OP_FAIL 2
#define OP_PROC_FAIL 3

#define SCENARIO_OPS(X) \
	X(MACHINE, "machine", OP_PLAIN, "machine nodes N | movable N | map_limit N | frames N | swap N | thp never|madvise|always") \
	X(BROKEN, "broken", OP_PLAIN, "broken STRATEGY|linux... [\"why\"]") \
	X(NEEDS, "needs", OP_PLAIN, "needs linux OP VERSION \"why\"") \
	X(DIFFERS, "differs", OP_PLAIN, "differs linux OP VERSION [OBSERVABLE...] \"why\"") \
	X(KILLS, "kills", OP_PLAIN, "kills linux [OP VERSION] \"why\"") \
	X(FILE, "file", OP_FAIL, "file NAME PAGES [seed N]") \
	X(PROCESS, "process", OP_FAIL, "process NAME [from core \"FILE\" | from pid N]") \
	X(LET, "let", OP_PLAIN, "let NAME = EXPRESSION") \
	X(FOR, "for", OP_PLAIN, "for NAME in FIRST..LAST ... end") \
	X(END, "end", OP_PLAIN, "end") \
	X(UNDER, "under", OP_PLAIN, "under [STRATEGY...] [linux OP VERSION]: expect ...") \
	X(SET, "set", OP_FAIL, "set KNOB VALUE") \
	X(SCAN, "scan", OP_FAIL, "scan PASSES | scan until-stable [PASSES] | scan pages N") \
	X(RUN, "run", OP_FAIL, "run 10s | run 500ms") \
	X(RECLAIM, "reclaim", OP_FAIL, "reclaim PAGES [rounds N]") \
	X(COMPACT, "compact", OP_FAIL, "compact") \
	X(OFFLINE, "offline", OP_FAIL, "offline node N") \
	X(ONLINE, "online", OP_FAIL, "online node N") \
	X(DROP, "drop", OP_FAIL, "drop NAME") \
	X(WALK, "walk", OP_FAIL, "walk PROCESS:RANGE") \
	X(EXPECT, "expect", OP_PLAIN, "expect COUNTER OP VALUE, or one of the forms of samepage-scenario(5)") \
	X(FORK, "fork", OP_PROC_FAIL, "PROCESS: fork NAME") \
	X(EXIT, "exit", OP_PROC_FAIL, "PROCESS: exit") \
	X(MAP, "map", OP_PROC_FAIL, "PROCESS: map NAME PAGES | map RANGE [shared] [file F at PAGE] [prot P] [noreserve] [noreplace] [align 2M]") \
	X(WINDOW, "window", OP_PROC, "PROCESS: window NAME PAGES [align 2M]") \
	X(MUNMAP, "munmap", OP_PROC_FAIL, "PROCESS: munmap RANGE") \
	X(MREMAP, "mremap", OP_PROC_FAIL, "PROCESS: mremap RANGE -> RANGE [dontunmap] | RANGE resize PAGES [maymove] [as NAME] | RANGE [to RANGE] [flags F|F] [old_bytes N] [new_bytes N]") \
	X(MPROTECT, "mprotect", OP_PROC_FAIL, "PROCESS: mprotect RANGE none|r|rw|rx|rwx") \
	X(MADVISE, "madvise", OP_PROC_FAIL, "PROCESS: madvise RANGE ADVICE") \
	X(MLOCK, "mlock", OP_PROC_FAIL, "PROCESS: mlock RANGE") \
	X(MUNLOCK, "munlock", OP_PROC_FAIL, "PROCESS: munlock RANGE") \
	X(PRCTL, "prctl", OP_PROC_FAIL, "PROCESS: prctl merge-any VALUE [ARG]... | prctl get-merge-any [ARG]...") \
	X(FILL, "fill", OP_PROC_FAIL, "PROCESS: fill RANGE BYTE | fill RANGE random SEED") \
	X(WRITE, "write", OP_PROC_FAIL, "PROCESS: write RANGE[+OFFSET] BYTE...") \
	X(READ, "read", OP_PROC_FAIL, "PROCESS: read RANGE") \
	X(TOUCH, "touch", OP_PROC_FAIL, "PROCESS: touch RANGE") \
	X(SWAPOUT, "swapout", OP_PROC_FAIL, "PROCESS: swapout RANGE") \
	X(SWAPIN, "swapin", OP_PROC_FAIL, "PROCESS: swapin RANGE") \
	X(MIGRATE, "migrate", OP_PROC_FAIL, "PROCESS: migrate RANGE [node N] [move]") \
	X(HOLD, "hold", OP_PROC_FAIL, "PROCESS: hold RANGE as NAME")

enum op {
#define X(upper, word, flags, usage) OP_##upper,
	SCENARIO_OPS(X)
#undef X
	NR_OPS
};

struct op_info {
	const char *word;
	const char *usage;
	bool needs_process;
	bool can_fail;
};

extern const struct op_info op_table[NR_OPS];

enum compare { COMPARE_EQ, COMPARE_NE, COMPARE_LT, COMPARE_LE, COMPARE_GT, COMPARE_GE };

/* Forms of expect, in stmt.form. */
enum expect_form {
	EXPECT_VALUE,     /* value[0] compare value[1] */
	EXPECT_ERRNO,     /* number: the errno */
	EXPECT_RESULT,    /* compare value[0] */
	EXPECT_CONTENT,   /* range, content; range2 for same-as */
	EXPECT_SAME,      /* range [range2] */
	EXPECT_DIFFERENT,
	EXPECT_STATE,     /* range, number: enum page_test, negated */
	EXPECT_KNOB,      /* word; value[0] or word2 */
	EXPECT_REACHED,   /* all, full, or value[0] [of value[1]] */
	EXPECT_METRIC,    /* number: enum walk_metric; compare value[0] */
};

enum content_form { CONTENT_BYTE, CONTENT_RANDOM, CONTENT_SAME_AS, CONTENT_UNKNOWN };
enum reached_form { REACHED_ALL, REACHED_FULL, REACHED_NUMBER };

/* Tests of each page of a range: name; each also exists as not-name. */
#define SCENARIO_PAGE_TESTS(X)         \
	X(PRESENT, "present")          \
	X(SWAPPED, "swapped")          \
	X(ABSENT, "absent")            \
	X(ZERO, "zero")                \
	X(MIGRATION, "migration")      \
	X(KSM, "ksm")                  \
	X(ANON, "anon")                \
	X(HUGE, "huge")                \
	X(YOUNG, "young")              \
	X(DIRTY, "dirty")              \
	X(WRITABLE, "writable")        \
	X(LOCKED, "locked")            \
	X(MERGEABLE, "mergeable")      \
	X(MAPPED, "mapped")

enum page_test {
#define X(upper, name) TEST_##upper,
	SCENARIO_PAGE_TESTS(X)
#undef X
	NR_PAGE_TESTS
};

/* Figures of the last walk: words, and the field that pass 0 or 1 has of it. */
#define SCENARIO_WALK_METRICS(X)            \
	X(CALLS, "calls")                   \
	X(ITERATIONS, "iterations")         \
	X(SKIPPED_ADDRESS, "skipped address") \
	X(SKIPPED_MM, "skipped mm")         \
	X(LOOPS, "loops")                   \
	X(FALLBACKS, "fallbacks")           \
	X(REACHABLE, "reachable")           \
	X(PASS0_CALLS, "pass 0 calls")      \
	X(PASS0_ITERATIONS, "pass 0 iterations") \
	X(PASS0_SKIPPED_MM, "pass 0 skipped mm") \
	X(PASS1_CALLS, "pass 1 calls")      \
	X(PASS1_ITERATIONS, "pass 1 iterations") \
	X(PASS1_SKIPPED_MM, "pass 1 skipped mm")

enum walk_metric {
#define X(upper, name) METRIC_##upper,
	SCENARIO_WALK_METRICS(X)
#undef X
	NR_WALK_METRICS
};

/* Bits of stmt.options. */
#define OPTION_SHARED      (1u << 0)  /* map */
#define OPTION_NORESERVE   (1u << 1)
#define OPTION_NOREPLACE   (1u << 2)
#define OPTION_HUGE_ALIGN  (1u << 3)  /* map, window: align 2M */
#define OPTION_NEW_WINDOW  (1u << 4)  /* map NAME PAGES: target is new */
#define OPTION_HAS_FILE    (1u << 5)  /* map: file is set */
#define OPTION_FROM_CORE   (1u << 6)  /* process: word is the path */
#define OPTION_FROM_PID    (1u << 7)  /* process: value[0] */
#define OPTION_TARGET      (1u << 8)  /* mremap resize ... as NAME: target is set */
#define OPTION_TO          (1u << 9)  /* mremap: range2 is the new address */
#define OPTION_GET         (1u << 10) /* prctl get-merge-any */
#define OPTION_RANDOM      (1u << 11) /* fill random */
#define OPTION_UNTIL       (1u << 12) /* scan until-stable */
#define OPTION_PAGES       (1u << 13) /* scan pages */
#define OPTION_MOVE_ONLY   (1u << 14) /* migrate ... move: not MPOL_MF_MOVE_ALL */
#define OPTION_RESIZE      (1u << 15) /* mremap resize */
#define OPTION_NOT         (1u << 16) /* expect not-... */

#define STRATEGIES_ALL ((1u << SP_NR_STRATEGIES) - 1)

struct stmt {
	enum op op;
	uint32_t line, pos;
	uint32_t strategies;      /* bits; where an expectation holds */
	struct linux_range kernels; /* and on which */
	const char *text;         /* trimmed, without comment */
	struct stmt *next;

	bool has_process;
	struct name_ref process;
	struct name_ref target;   /* what it names: fork, map, window, hold, process, let, for */
	struct name_ref file;     /* map */
	struct range *range, *range2;
	struct expr *value[3];    /* what it counts: pages, seed, bounds ... */
	struct expr **list;       /* any number of values: write, prctl */
	uint32_t nr_list;
	const char *word;         /* knob, path */
	const char *word2;        /* knob's value when it is not a number */
	uint32_t options;
	int number;               /* protection, flags, advice, errno, test, metric */
	enum compare compare;
	enum expect_form form;
	int content;              /* content_form or reached_form */

	struct stmt *body;        /* for */
	/* `expect errno` lines that stand after this operation, linked by next. */
	struct stmt *errnos;
	/* Where an expectation's result goes. */
	uint32_t expectation;
};

/* ---- The whole ------------------------------------------------------------------- */

struct scenario {
	struct mem mem;
	struct arena arena;
	const char *path;
	const char *title;
	struct symbol_table symbols[NR_SYMBOL_KINDS];
	struct stmt *first;
	struct stmt **expectations; /* by their number */
	uint32_t nr_expectations;
	uint32_t broken;            /* strategies, as bits */
	const char *why[SP_NR_STRATEGIES];
	bool broken_linux;
	const char *why_linux;
	struct scenario_need *needs;
	struct scenario_difference *differences;
	struct scenario_need *kills; /* what it says; NULL: nothing */
	struct sp_config machine;   /* what `machine` lines say */
};

/* "c7", "x": the name as a reader knows it. index is ignored for a plain one. */
void symbol_format(const struct symbol *symbol, int64_t index, char *buf, size_t size);

#endif
