// Memory of the operating system: pages, aligned blocks, and how much of it the host has.
#pragma once

#include <cstddef>
#include <cstdint>

namespace garuda::os {

/// Bytes of a page: what the processor protects and maps at least.
std::int64_t page_bytes() noexcept;

/// Whether unmap_pages may be given any part of what map_pages made, and parts of several mappings that lie side by
/// side. Where it may not, as on Windows, the other functions are not to be called.
bool unmaps_parts() noexcept;

/// Maps `bytes` zeroed bytes (a multiple of the page size) from a multiple of `alignment` (a power of two, and whole
/// pages) on, on pages of that size where the system has them; nullptr: no memory.
std::byte* map_pages(std::size_t bytes, std::size_t alignment) noexcept;
void unmap_pages(std::byte* address, std::size_t bytes) noexcept;

/// `bytes` (a multiple of `alignment`) from the heap, not initialised; nullptr: no memory.
void* allocate_aligned(std::size_t alignment, std::size_t bytes) noexcept;
/// Frees what allocate_aligned returned.
void free_aligned(void* memory) noexcept;

/// Bytes that the process may still take, container limits included; 0: unknown.
std::uint64_t available_memory_bytes();
/// Bytes that the process may take in all, container limits included; 0: unknown.
std::uint64_t total_memory_bytes();

/// Whether that much address space can still be had: what a thread of a library reserves, about.
bool has_address_space(std::size_t bytes) noexcept;

/// Memory of the process that no file backs, bytes: its heap, buffers and stacks; 0: unknown. Takes some microseconds.
std::uint64_t anonymous_memory_bytes() noexcept;

/// Gives what the C library's heap does not use back to the system.
void trim_heap() noexcept;

/// Has the C library give freed blocks of at least `bytes` bytes back to the system at once, and keep one heap for all
/// threads, where it does otherwise.
void give_freed_memory_back(std::size_t bytes) noexcept;

}  // namespace garuda::os
