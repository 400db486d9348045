#include "core/kept_memory.hpp"

#include <iterator>
#include <new>

#include "core/os/memory.hpp"

namespace garuda {
namespace {

void give_back(KeptMemory::Span span) noexcept { os::unmap_pages(span.address, span.bytes); }

}  // namespace

KeptMemory& KeptMemory::instance() {
  // Leaked on purpose: buffers may be destroyed after every static object.
  static auto* const kept = new KeptMemory;
  return *kept;
}

KeptMemory::Tenancy::Tenancy() {
  auto& kept = instance();
  std::lock_guard const lock(kept.mutex_);
  ++kept.tenants_;
  kept.note_limit();
}

KeptMemory::Tenancy::~Tenancy() {
  auto& kept = instance();
  std::lock_guard const lock(kept.mutex_);
  --kept.tenants_;
  kept.note_limit();
  kept.shrink_to(kept.limit());
}

KeptMemory::Span KeptMemory::take(std::size_t bytes) {
  std::lock_guard const lock(mutex_);
  auto const best = by_size_.lower_bound({bytes, nullptr});
  if (best == by_size_.end()) return {};
  auto const span = spans_.find(best->second);
  auto const address = span->first;
  auto const kept = span->second;
  erase(span);
  if (kept.bytes > bytes) {
    try {
      insert(address + bytes, {kept.bytes - bytes, kept.since});
    } catch (std::bad_alloc const&) {
      give_back({address + bytes, kept.bytes - bytes});
    }
  }
  return {address, bytes};
}

void KeptMemory::keep(Span span) noexcept {
  std::lock_guard const lock(mutex_);
  if (span.bytes > limit()) return give_back(span);
  shrink_to(limit() - span.bytes);
  auto address = span.address;
  auto bytes = span.bytes;
  if (auto const next = spans_.find(address + bytes); next != spans_.end()) {
    bytes += next->second.bytes;
    erase(next);
  }
  if (auto after = spans_.lower_bound(address); after != spans_.begin()) {
    auto const before = std::prev(after);
    if (before->first + before->second.bytes == address) {
      address = before->first;
      bytes += before->second.bytes;
      erase(before);
    }
  }
  try {
    insert(address, {bytes, next_since_++});
  } catch (std::bad_alloc const&) {
    give_back({address, bytes});
  }
}

void KeptMemory::set_limit(std::size_t bytes) noexcept {
  std::lock_guard const lock(mutex_);
  limit_ = bytes;
  note_limit();
  shrink_to(limit());
}

void KeptMemory::give_back_all() noexcept {
  std::lock_guard const lock(mutex_);
  shrink_to(0);
}

std::size_t KeptMemory::kept_bytes() const noexcept {
  std::lock_guard const lock(mutex_);
  return bytes_;
}

void KeptMemory::erase(std::map<std::byte*, Kept>::iterator span) noexcept {
  by_size_.erase({span->second.bytes, span->first});
  by_age_.erase(span->second.since);
  bytes_ -= span->second.bytes;
  spans_.erase(span);
}

/// All or nothing.
void KeptMemory::insert(std::byte* address, Kept kept) {
  auto const span = spans_.emplace(address, kept).first;
  try {
    auto const sized = by_size_.emplace(kept.bytes, address).first;
    try {
      by_age_.emplace(kept.since, address);
    } catch (...) {
      by_size_.erase(sized);
      throw;
    }
  } catch (...) {
    spans_.erase(span);
    throw;
  }
  bytes_ += kept.bytes;
}

void KeptMemory::shrink_to(std::size_t bytes) noexcept {
  while (bytes_ > bytes) {
    auto const span = spans_.find(by_age_.begin()->second);
    Span const given{span->first, span->second.bytes};
    erase(span);
    give_back(given);
  }
}

}  // namespace garuda
