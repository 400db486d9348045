#include "core/os/memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace garuda::os {
namespace {

constexpr auto const* kGroupLimit = "/sys/fs/cgroup/memory.max";

std::uint64_t number_in(char const* path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : 0;  // "max" in memory.max: no limit
}

/// A line of the system's memory statistics, in bytes.
std::uint64_t memory_statistic(char const* wanted) {
  std::ifstream meminfo("/proc/meminfo");
  std::string name;
  std::uint64_t kib = 0;
  while (meminfo >> name >> kib) {
    if (name == wanted) return kib * 1024;
    meminfo.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

}  // namespace

std::int64_t page_bytes() noexcept { return ::sysconf(_SC_PAGESIZE); }

bool unmaps_parts() noexcept { return true; }

std::byte* map_pages(std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes > std::numeric_limits<std::size_t>::max() - alignment) return nullptr;
  void* const mapping = mmap(nullptr, bytes + alignment, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  auto* const first = static_cast<std::byte*>(mapping);
  auto const skipped = (alignment - reinterpret_cast<std::uintptr_t>(first) % alignment) % alignment;
  if (skipped > 0) munmap(first, skipped);
  munmap(first + skipped + bytes, alignment - skipped);
  // Whole pages only: the tail must not take memory that nobody asked for. A refusal costs speed, nothing else.
  madvise(first + skipped, bytes / alignment * alignment, MADV_HUGEPAGE);
  return first + skipped;
}

void unmap_pages(std::byte* address, std::size_t bytes) noexcept { munmap(address, bytes); }

void* allocate_aligned(std::size_t alignment, std::size_t bytes) noexcept {
  return std::aligned_alloc(alignment, bytes);
}
void free_aligned(void* memory) noexcept { std::free(memory); }

std::uint64_t available_memory_bytes() {
  auto const available = memory_statistic("MemAvailable:");
  if (available == 0) return 0;
  auto const limit = number_in(kGroupLimit);
  if (limit == 0) return available;
  auto const used = number_in("/sys/fs/cgroup/memory.current");
  return std::min(available, limit > used ? limit - used : 1);
}

std::uint64_t total_memory_bytes() {
  auto const total = memory_statistic("MemTotal:");
  auto const limit = number_in(kGroupLimit);
  return limit == 0 ? total : std::min(total, limit);
}

bool has_address_space(std::size_t bytes) noexcept {
  void* const mapping = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return false;
  munmap(mapping, bytes);
  return true;
}

std::uint64_t anonymous_memory_bytes() noexcept {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 0;  // what a sanitizer keeps beside the memory would count
#else
  // Pages of the whole process, of those in memory, and of those that files back.
  std::array<char, 128> text{};
  int const file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  auto const length = read(file, text.data(), text.size() - 1);
  close(file);
  if (length <= 0) return 0;
  char* next = text.data();
  std::strtoull(next, &next, 10);
  auto const resident = std::strtoull(next, &next, 10);
  auto const backed = std::strtoull(next, &next, 10);
  return resident < backed ? 0 : (resident - backed) * static_cast<std::uint64_t>(page_bytes());
#endif
}

void trim_heap() noexcept {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

void give_freed_memory_back([[maybe_unused]] std::size_t bytes) noexcept {
#ifdef __GLIBC__
  ::mallopt(M_MMAP_THRESHOLD, static_cast<int>(bytes));
  ::mallopt(M_ARENA_MAX, 1);
#endif
  trim_heap();
}

}  // namespace garuda::os
