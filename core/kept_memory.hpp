// Large host memory that freed buffers leave behind, for later buffers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace garuda {

/// Memory of AlignedBuffers that were destroyed, kept for later ones: fresh memory is zeroed page by page by the
/// operating system, and under a hypervisor may have to be found first, which can take longer than filling it. Spans
/// of pages that lie side by side are one span; a span may serve a smaller buffer and keeps the rest. One a process,
/// because buffers outlive engines and each other in any order: but only engines make it keep anything (Tenancy), and
/// with the last of them everything goes back. Each thread has some smaller spans of its own, which are still in its
/// core's cache when it takes them again, and for which no thread waits. Thread-safe.
class KeptMemory {
 public:
  /// The process's; never destroyed.
  static KeptMemory& instance();

  /// Whole pages.
  struct Span {
    std::byte* address = nullptr;
    std::size_t bytes = 0;
  };

  /// Freed memory is kept, up to the limit, while a Tenancy exists. An engine holds one.
  class Tenancy {
   public:
    Tenancy();
    ~Tenancy();
    Tenancy(Tenancy const&) = delete;
    Tenancy& operator=(Tenancy const&) = delete;
  };

  /// Returns `bytes` bytes, whole pages, contents unspecified: of the thread's own spans the latest that has as many
  /// and hardly more, as a whole; else from the smallest kept span that has as many; no address when there is none.
  Span take(std::size_t bytes);
  /// Keeps a span, in place of the ones kept longest; gives back to the operating system what is beyond the limit.
  void keep(Span span) noexcept;
  /// Keeps at most `bytes` bytes from now on, at once of what is kept already; 0: nothing.
  void set_limit(std::size_t bytes) noexcept;
  /// True when memory freed now would be kept.
  bool is_keeping() const noexcept { return is_keeping_; }
  /// Gives back everything that is kept now.
  void give_back_all() noexcept;
  std::size_t kept_bytes() const noexcept;

 private:
  class OwnSpans;

  struct Kept {
    std::size_t bytes = 0;
    std::uint64_t since = 0;  ///< number of the `keep` that made or last enlarged the span
  };

  /// Spans of the calling thread; nullptr: it is ending.
  static OwnSpans* own_spans() noexcept;
  /// False: there is no room for one more.
  bool add(OwnSpans* own) noexcept;
  void remove(OwnSpans* own) noexcept;
  void keep_for_all(Span span) noexcept;
  void erase(std::map<std::byte*, Kept>::iterator span) noexcept;
  void insert(std::byte* address, Kept kept);
  void shrink_to(std::size_t bytes) noexcept;
  std::size_t limit() const noexcept { return tenants_ == 0 ? 0 : limit_; }
  /// The part of the limit for spans that all threads share; the rest is left to the threads' own.
  std::size_t common_limit() const noexcept;
  /// Whether so many threads may have spans of their own.
  bool is_enough_for(std::size_t num_owners) const noexcept;
  /// Called after a change of the limit or of the tenants.
  void obey_limit() noexcept;

  mutable std::mutex mutex_;
  std::atomic<bool> is_keeping_{false};
  std::atomic<bool> threads_keep_{false};
  std::atomic<std::uint64_t> limits_{0};  ///< how often the limit, or the tenants, have changed
  OwnSpans* owners_ = nullptr;            ///< the first of those that threads have, each with a pointer to the next one
  std::size_t num_owners_ = 0;
  std::map<std::byte*, Kept> spans_;
  std::set<std::pair<std::size_t, std::byte*>> by_size_;
  std::map<std::uint64_t, std::byte*> by_age_;
  std::size_t bytes_ = 0;
  std::size_t limit_ = 0;
  std::size_t tenants_ = 0;
  std::uint64_t next_since_ = 0;
};

}  // namespace garuda
