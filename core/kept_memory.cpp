#include "core/kept_memory.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <new>

#include "core/os/memory.hpp"

namespace garuda {
namespace {

void give_back(KeptMemory::Span span) noexcept { os::unmap_pages(span.address, span.bytes); }

/// Largest span that a thread has for itself, and most bytes of all: what a core's caches hold. Batches of results are
/// larger, which are written once and freed elsewhere: a join's were 6 % slower where threads kept those, too.
constexpr std::size_t kMostOwnSpanBytes = std::size_t{1} << 18;
constexpr std::size_t kMostOwnBytes = std::size_t{4} << 20;
/// Threads have spans of their own while all of these take no more than a part of the limit; what comes after has none.
constexpr std::size_t kOwnShare = 4;
/// A span serves a buffer that is smaller by up to a part of it.
constexpr std::size_t kUnusedShare = 8;

}  // namespace

/// Spans of one thread, the latest last.
class KeptMemory::OwnSpans {
 public:
  explicit OwnSpans(KeptMemory& all) noexcept : all_(all) {}
  /// Leaves the thread's spans to all threads.
  ~OwnSpans() {
    is_ending() = true;
    for (auto span = take_oldest(); span.address != nullptr; span = take_oldest()) all_.keep_for_all(span);
    if (is_listed_) all_.remove(this);
  }
  OwnSpans(OwnSpans const&) = delete;
  OwnSpans& operator=(OwnSpans const&) = delete;

  /// Whether the calling thread's OwnSpans is gone: older objects of the thread free their memory after it.
  static bool& is_ending() noexcept {
    thread_local bool is_ending = false;
    return is_ending;
  }

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

  /// Keeps a span; the oldest ones that are too much with it go to all threads. False: threads keep nothing.
  bool keep(Span span) noexcept {
    // Where there was no room for one more thread there may be with another limit.
    if (!is_listed_ && seen_limits_ != all_.limits_) {
      seen_limits_ = all_.limits_;
      is_listed_ = all_.add(this);
    }
    std::array<Span, kMostSpans> others;
    std::size_t num_others = 0;
    {
      std::lock_guard const lock(mutex_);
      if (!is_listed_ || !all_.threads_keep_) return false;
      while (count_ == kMostSpans || bytes_ + span.bytes > kMostOwnBytes) others[num_others++] = take_out(0);
      spans_[count_++] = span;
      bytes_ += span.bytes;
    }
    for (std::size_t i = 0; i < num_others; ++i) all_.keep_for_all(others[i]);
    return true;
  }

  /// Gives back everything. Requires: the caller holds all_.mutex_.
  void give_back_all() noexcept {
    std::lock_guard const lock(mutex_);
    while (count_ > 0) give_back(take_out(count_ - 1));
  }

  std::size_t bytes() const noexcept {
    std::lock_guard const lock(mutex_);
    return bytes_;
  }

  OwnSpans* next = nullptr;  ///< of all_.owners_, under its mutex

 private:
  static constexpr std::size_t kMostSpans = 64;

  Span take_oldest() noexcept {
    std::lock_guard const lock(mutex_);
    return count_ > 0 ? take_out(0) : Span{};
  }

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
  bool is_listed_ = false;
  std::uint64_t seen_limits_ = 0;  ///< of all_.limits_
  mutable std::mutex mutex_;       ///< others give back what is kept, and count it
  std::array<Span, kMostSpans> spans_{};
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

KeptMemory& KeptMemory::instance() {
  // Leaked on purpose: buffers may be destroyed after every static object.
  static auto* const kept = new KeptMemory;
  return *kept;
}

KeptMemory::OwnSpans* KeptMemory::own_spans() noexcept {
  if (OwnSpans::is_ending()) return nullptr;
  thread_local OwnSpans own(instance());
  return &own;
}

bool KeptMemory::add(OwnSpans* own) noexcept {
  std::lock_guard const lock(mutex_);
  if (!is_enough_for(num_owners_ + 1)) return false;
  own->next = owners_;
  owners_ = own;
  ++num_owners_;
  shrink_to(common_limit());
  return true;
}

void KeptMemory::remove(OwnSpans* own) noexcept {
  std::lock_guard const lock(mutex_);
  auto** at = &owners_;
  while (*at != own) at = &(*at)->next;
  *at = own->next;
  --num_owners_;
}

bool KeptMemory::is_enough_for(std::size_t num_owners) const noexcept {
  return limit() > 0 && num_owners * kMostOwnBytes <= limit() / kOwnShare;
}

std::size_t KeptMemory::common_limit() const noexcept {
  return threads_keep_ ? limit() - num_owners_ * kMostOwnBytes : limit();
}

void KeptMemory::obey_limit() noexcept {
  is_keeping_ = limit() > 0;
  threads_keep_ = is_enough_for(std::max<std::size_t>(num_owners_, 1));
  ++limits_;
  if (!threads_keep_)
    for (auto* own = owners_; own != nullptr; own = own->next) own->give_back_all();
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
  if (auto* const own = bytes <= kMostOwnSpanBytes && threads_keep_ ? own_spans() : nullptr; own != nullptr)
    if (auto const span = own->take(bytes); span.address != nullptr) return span;
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
  auto* const own = span.bytes <= kMostOwnSpanBytes && threads_keep_ ? own_spans() : nullptr;
  if (own != nullptr && own->keep(span)) return;
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
  for (auto* own = owners_; own != nullptr; own = own->next) own->give_back_all();
  shrink_to(0);
}

std::size_t KeptMemory::kept_bytes() const noexcept {
  std::lock_guard const lock(mutex_);
  auto bytes = bytes_;
  for (auto const* own = owners_; own != nullptr; own = own->next) bytes += own->bytes();
  return bytes;
}

void KeptMemory::erase(std::map<std::byte*, Kept>::iterator span) noexcept {
  by_size_.erase({span->second.bytes, span->first});
  by_age_.erase(span->second.since);
  bytes_ -= span->second.bytes;
  spans_.erase(span);
}

/// Inserts into all indices, or throws and leaves them as they were.
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
