// For LD_PRELOAD: a host whose memory ends. GARUDA_TEST_FAILING_ALLOCATION says which `operator new` of garuda's own
// code fails, counted from 1; GARUDA_TEST_ALLOCATIONS names a file that gets their number. Those of other libraries
// succeed, as their failures are theirs to bear.
#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

struct Code {
  std::uintptr_t begin;
  std::uintptr_t end;
};

constexpr int kMostRanges = 16;
Code ranges[kMostRanges];
std::atomic<int> num_ranges{0};
std::atomic<long> allocations{0};
long failing = -1;

int add_code(dl_phdr_info* object, std::size_t, void*) {
  bool const is_own = object->dlpi_name[0] == '\0' || std::strstr(object->dlpi_name, "garuda_files") != nullptr;
  if (!is_own) return 0;
  for (int i = 0; i < object->dlpi_phnum && num_ranges < kMostRanges; ++i) {
    auto const& part = object->dlpi_phdr[i];
    auto const begin = object->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0) ranges[num_ranges++] = {begin, begin + part.p_memsz};
  }
  return 0;
}

void find_code() {
  num_ranges = 0;
  ::dl_iterate_phdr(add_code, nullptr);
}

[[gnu::constructor(101)]] void start() {
  if (auto const* const number = std::getenv("GARUDA_TEST_FAILING_ALLOCATION")) failing = std::atol(number);
  find_code();
}

bool is_own(void* caller) {
  auto const address = reinterpret_cast<std::uintptr_t>(caller);
  for (int i = 0; i < num_ranges; ++i)
    if (address >= ranges[i].begin && address < ranges[i].end) return true;
  return false;
}

void* allocate(void* caller, std::size_t bytes, std::size_t alignment) noexcept {
  if (is_own(caller) && ++allocations == failing) return nullptr;
  if (bytes == 0) bytes = 1;
  if (alignment == 0) return std::malloc(bytes);
  void* memory = nullptr;
  return ::posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
}

void* allocate_or_throw(void* caller, std::size_t bytes, std::size_t alignment) {
  if (auto* const memory = allocate(caller, bytes, alignment)) return memory;
  throw std::bad_alloc();
}

}  // namespace

/// The library of files is loaded when it is wanted.
extern "C" void* dlopen(char const* file, int mode) {
  auto* const open = reinterpret_cast<decltype(&dlopen)>(::dlsym(RTLD_NEXT, "dlopen"));
  auto* const library = open(file, mode);
  find_code();
  return library;
}

/// The command ends by it, past all that runs at an end.
extern "C" [[noreturn]] void _exit(int code) {
  if (auto const* const name = std::getenv("GARUDA_TEST_ALLOCATIONS"))
    if (auto* const file = std::fopen(name, "w")) {
      std::fprintf(file, "%ld", allocations.load());
      std::fclose(file);
    }
  auto* const end = reinterpret_cast<void (*)(int)>(::dlsym(RTLD_NEXT, "_exit"));
  end(code);
  std::abort();
}

void* operator new(std::size_t bytes) { return allocate_or_throw(__builtin_return_address(0), bytes, 0); }
void* operator new[](std::size_t bytes) { return allocate_or_throw(__builtin_return_address(0), bytes, 0); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(__builtin_return_address(0), bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept {
  return allocate(__builtin_return_address(0), bytes, 0);
}
void* operator new[](std::size_t bytes, std::nothrow_t const&) noexcept {
  return allocate(__builtin_return_address(0), bytes, 0);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
