#include "core/kept_memory.hpp"

#include <algorithm>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace garuda {
namespace {

void give_back(KeptMemory::Mapping mapping) noexcept {
#ifdef __linux__
  munmap(mapping.address, mapping.bytes);
#else
  static_cast<void>(mapping);
#endif
}

}  // namespace

KeptMemory& KeptMemory::instance() {
  // Leaked on purpose: buffers may be destroyed after every static object.
  static auto* const kept = new KeptMemory;
  return *kept;
}

KeptMemory::Mapping KeptMemory::take(std::size_t bytes) {
  std::lock_guard const lock(mutex_);
  auto best = mappings_.end();
  for (auto m = mappings_.begin(); m != mappings_.end(); ++m) {
    if (m->bytes < bytes || m->bytes > bytes + bytes / 4) continue;
    if (best == mappings_.end() || m->bytes < best->bytes) best = m;
  }
  if (best == mappings_.end()) return {};
  auto const mapping = *best;
  mappings_.erase(best);
  bytes_ -= mapping.bytes;
  return mapping;
}

void KeptMemory::keep(Mapping mapping) noexcept {
  std::lock_guard const lock(mutex_);
  if (mapping.bytes > limit_) return give_back(mapping);
  shrink_to(limit_ - mapping.bytes);
  try {
    mappings_.push_back(mapping);
    bytes_ += mapping.bytes;
  } catch (std::bad_alloc const&) {
    give_back(mapping);
  }
}

void KeptMemory::set_limit(std::size_t bytes) noexcept {
  std::lock_guard const lock(mutex_);
  limit_ = bytes;
  shrink_to(bytes);
}

void KeptMemory::give_back_all() noexcept {
  std::lock_guard const lock(mutex_);
  shrink_to(0);
}

std::size_t KeptMemory::kept_bytes() const noexcept {
  std::lock_guard const lock(mutex_);
  return bytes_;
}

void KeptMemory::shrink_to(std::size_t bytes) noexcept {
  std::size_t given = 0;
  for (; bytes_ > bytes; ++given) {
    bytes_ -= mappings_[given].bytes;
    give_back(mappings_[given]);
  }
  mappings_.erase(mappings_.begin(), mappings_.begin() + static_cast<std::ptrdiff_t>(given));
}

}  // namespace garuda
