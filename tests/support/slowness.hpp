/// The slow-down by sanitizers: tests extend their timeouts by it, or do less.
#pragma once

#ifdef __has_feature
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define MPIX_TEST_SANITIZED 1
#endif
#elif defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define MPIX_TEST_SANITIZED 1
#endif

namespace mpixrma::test {

#ifdef MPIX_TEST_SANITIZED
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif
constexpr int slowness = sanitized ? 8 : 1;

}  // namespace mpixrma::test
