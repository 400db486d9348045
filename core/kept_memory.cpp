#include "core/kept_memory.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <new>

#include "core/os/memory.hpp"

namespace garuda {
namespace {

void give_back(KeptMemory::Span span) noexcept { os::unmap_pages(span.address, span.bytes); }

/// Largest span that a thread has for itself, and most bytes of all: what a core's caches hold.
constexpr std::size_t kMostOwnSpanBytes = std::size_t{1} << 20;
constexpr std::size_t kMostOwnBytes = std::size_t{4} << 20;
/// Threads have spans of their own while all of these take no more than a part of the limit.
constexpr std::size_t kOwnShare = 4;
/// A span serves a buffer that is smaller by up to a part of it.
constexpr std::size_t kUnusedShare = 8;

}  // namespace

/// Spans of one thread, the latest last.
class KeptMemory::OwnSpans {
 public:
  explicit OwnSpans(KeptMemory& all) : all_(all) { all_.add(this); }
  ~OwnSpans() { all_.remove(this); }
  OwnSpans(OwnSpans const&) = delete;
  OwnSpans& operator=(OwnSpans const&) = delete;

  Span take(std::size_t bytes) noexcept {
    std::lock_guard const lock(mutex_);
    for (auto i = count_; i-- > 0;) {
      auto const span = spans_[i];
      if (span.bytes < bytes || span.bytes - bytes > span.bytes / kUnusedShare) continue;
      take_out(i);
      return span;
    }
    return {};
  }

  /// False: not while threads keep nothing. What takes too much with it, the oldest ones, goes to all.
  bool keep(Span span) noexcept {
    std::array<Span, kMostSpans> others;
    std::size_t num_others = 0;
    {
      std::lock_guard const lock(mutex_);
      if (!all_.threads_keep_) return false;
      while (count_ == kMostSpans || bytes_ + span.bytes > kMostOwnBytes) others[num_others++] = take_out(0);
      spans_[count_++] = span;
      bytes_ += span.bytes;
    }
    for (std::size_t i = 0; i < num_others; ++i) all_.keep_for_all(others[i]);
    return true;
  }

  /// Gives back everything. Requires: the caller holds all_.mutex_, or the thread has ended.
  void give_back_all() noexcept {
    std::lock_guard const lock(mutex_);
    while (count_ > 0) give_back(take_out(count_ - 1));
  }

  std::size_t bytes() const noexcept {
    std::lock_guard const lock(mutex_);
    return bytes_;
  }

 private:
  static constexpr std::size_t kMostSpans = 64;

  Span take_out(std::size_t index) noexcept {
    auto const span = spans_[index];
    std::copy(spans_.begin() + static_cast<std::ptrdiff_t>(index) + 1,
              spans_.begin() + static_cast<std::ptrdiff_t>(count_),
              spans_.begin() + static_cast<std::ptrdiff_t>(index));
    --count_;
    bytes_ -= span.bytes;
    return span;
  }

  KeptMemory& all_;
  mutable std::mutex mutex_;  ///< others give back what is kept, and count it
  std::array<Span, kMostSpans> spans_{};
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

KeptMemory& KeptMemory::instance() {
  // Leaked on purpose: buffers may be destroyed after every static object.
  static auto* const kept = new KeptMemory;
  return *kept;
}

KeptMemory::OwnSpans& KeptMemory::own_spans() {
  thread_local OwnSpans own(instance());
  return own;
}

void KeptMemory::add(OwnSpans* own) {
  std::lock_guard const lock(mutex_);
  owners_.insert(own);
  obey_limit();
}

void KeptMemory::remove(OwnSpans* own) noexcept {
  std::lock_guard const lock(mutex_);
  own->give_back_all();
  owners_.erase(own);
  obey_limit();
}

std::size_t KeptMemory::common_limit() const noexcept {
  return threads_keep_ ? limit() - owners_.size() * kMostOwnBytes : limit();
}

void KeptMemory::obey_limit() noexcept {
  is_keeping_ = limit() > 0;
  threads_keep_ = owners_.size() * kMostOwnBytes <= limit() / kOwnShare && is_keeping_;
  if (!threads_keep_)
    for (auto* const own : owners_) own->give_back_all();
  shrink_to(common_limit());
}

KeptMemory::Tenancy::Tenancy() {
  auto& kept = instance();
  std::lock_guard const lock(kept.mutex_);
  ++kept.tenants_;
  kept.obey_limit();
}

KeptMemory::Tenancy::~Tenancy() {
  auto& kept = instance();
  std::lock_guard const lock(kept.mutex_);
  --kept.tenants_;
  kept.obey_limit();
}

KeptMemory::Span KeptMemory::take(std::size_t bytes) {
  if (bytes <= kMostOwnSpanBytes && threads_keep_)
    if (auto const span = own_spans().take(bytes); span.address != nullptr) return span;
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
  if (span.bytes <= kMostOwnSpanBytes && threads_keep_ && own_spans().keep(span)) return;
  keep_for_all(span);
}

void KeptMemory::keep_for_all(Span span) noexcept {
  std::lock_guard const lock(mutex_);
  if (span.bytes > common_limit()) return give_back(span);
  shrink_to(common_limit() - span.bytes);
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
  obey_limit();
}

void KeptMemory::give_back_all() noexcept {
  std::lock_guard const lock(mutex_);
  for (auto* const own : owners_) own->give_back_all();
  shrink_to(0);
}

std::size_t KeptMemory::kept_bytes() const noexcept {
  std::lock_guard const lock(mutex_);
  auto bytes = bytes_;
  for (auto const* const own : owners_) bytes += own->bytes();
  return bytes;
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
