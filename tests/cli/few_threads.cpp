// For LD_PRELOAD: a system whose limit on threads is reached. GARUDA_TEST_MOST_THREADS says after how many.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

extern "C" int pthread_create(pthread_t* thread, pthread_attr_t const* attributes, void* (*body)(void*),
                              void* argument) {
  static std::atomic<int> started{0};
  auto const* const most = std::getenv("GARUDA_TEST_MOST_THREADS");
  if (most != nullptr && started++ >= std::atoi(most)) return EAGAIN;
  auto* const create = reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
  return create(thread, attributes, body, argument);
}
