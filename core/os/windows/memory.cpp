#include "core/os/memory.hpp"

#include <malloc.h>

#include <algorithm>

#include "core/os/windows/windows.hpp"

namespace garuda::os {
namespace {

/// Zero of each where the system does not say.
MEMORYSTATUSEX memory_status() noexcept {
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof status;
  if (::GlobalMemoryStatusEx(&status) == 0) return {};
  return status;
}

}  // namespace

std::int64_t page_bytes() noexcept {
  SYSTEM_INFO system{};
  ::GetSystemInfo(&system);
  return system.dwPageSize;
}

bool unmaps_parts() noexcept { return false; }
std::byte* map_pages(std::size_t, std::size_t) noexcept { return nullptr; }
void unmap_pages(std::byte*, std::size_t) noexcept {}

void* allocate_aligned(std::size_t alignment, std::size_t bytes) noexcept {
  return ::_aligned_malloc(bytes, alignment);
}
void free_aligned(void* memory) noexcept { ::_aligned_free(memory); }

std::uint64_t available_memory_bytes() {
  auto const status = memory_status();
  // Memory is promised when it is asked for, out of main memory and paging files together.
  return std::min(status.ullAvailPhys, status.ullAvailPageFile);
}

std::uint64_t total_memory_bytes() { return memory_status().ullTotalPhys; }

bool has_address_space(std::size_t bytes) noexcept {
  void* const reserved = ::VirtualAlloc(nullptr, bytes, MEM_RESERVE, PAGE_NOACCESS);
  if (reserved == nullptr) return false;
  ::VirtualFree(reserved, 0, MEM_RELEASE);
  return true;
}

std::uint64_t anonymous_memory_bytes() noexcept { return 0; }

void trim_heap() noexcept {}

void give_freed_memory_back(std::size_t) noexcept {}

}  // namespace garuda::os
