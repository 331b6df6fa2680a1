/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Assertion tiers.
 *
 *   SP_ASSERT        cheap contracts; on when SP_DEBUG_LEVEL >= 1
 *   SP_ASSERT_DEBUG  costly ones (list walks); on when SP_DEBUG_LEVEL >= 2
 *   SP_BUG           a state that must not exist; always on, always fatal
 *
 * A disabled assertion is still compiled (in sizeof), so it cannot rot.
 * Bad input from a user is never an assertion: it is an -errno.
 */
#ifndef SP_ASSERTION_H
#define SP_ASSERTION_H

#ifndef SP_DEBUG_LEVEL
#define SP_DEBUG_LEVEL 0
#endif

_Noreturn void sp_assert_failed(const char *expr, const char *file, int line,
				const char *func);

#define SP_ASSERT_ON_(e) \
	((e) ? (void)0 : sp_assert_failed(#e, __FILE__, __LINE__, __func__))
#define SP_ASSERT_OFF_(e) ((void)sizeof(!(e)))

#if SP_DEBUG_LEVEL >= 1
#define SP_ASSERT(e) SP_ASSERT_ON_(e)
#else
#define SP_ASSERT(e) SP_ASSERT_OFF_(e)
#endif

#if SP_DEBUG_LEVEL >= 2
#define SP_ASSERT_DEBUG(e) SP_ASSERT_ON_(e)
#else
#define SP_ASSERT_DEBUG(e) SP_ASSERT_OFF_(e)
#endif

#define SP_BUG(what) sp_assert_failed(what, __FILE__, __LINE__, __func__)

#endif
