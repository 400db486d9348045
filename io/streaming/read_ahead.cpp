#include "io/streaming/read_ahead.hpp"

#include <utility>

#include "io/columns/row_bytes.hpp"

namespace garuda::io {

ReadAhead::ReadAhead(std::shared_ptr<TableParts> parts, std::size_t threads, std::uint64_t bytes)
    : parts_(std::move(parts)), most_bytes_(bytes) {
  threads_.reserve(threads);
  try {
    while (threads_.size() < threads) threads_.emplace_back([this] { work(); });
  } catch (std::exception const&) {
    // Those that there are read all parts.
  }
}

ReadAhead::~ReadAhead() {
  {
    std::lock_guard const lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  for (auto& thread : threads_) thread.join();
}

Result<ReadAhead::Rows> ReadAhead::next() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] {
      if (exception_) return true;
      return slots_.empty() ? at_end_ : slots_.front()->is_read || !slots_.front()->waiting.empty();
    });
    if (exception_) std::rethrow_exception(exception_);
    if (slots_.empty()) return Rows{nullptr, 1.0};
    auto& first = *slots_.front();
    if (!first.waiting.empty()) {
      auto [rows, bytes] = std::move(first.waiting.front());
      first.waiting.pop_front();
      bytes_ -= bytes;
      rows_of_part_ += rows.batch->num_rows();
      lock.unlock();
      changed_.notify_all();
      return rows;
    }
    if (!first.outcome) return tl::unexpected(first.outcome.error());
    slots_.pop_front();
    ++first_;
    rows_of_part_ = 0;
    changed_.notify_all();  // another part's turn has come
  }
}

void ReadAhead::work() noexcept {
  try {
    while (read_next_part()) continue;
  } catch (...) {
    std::lock_guard const lock(mutex_);
    exception_ = std::current_exception();
    at_end_ = true;
  }
  changed_.notify_all();
}

/// False: no more are to be read.
bool ReadAhead::read_next_part() {
  std::unique_lock opening(opening_);
  std::size_t number = 0;
  {
    std::lock_guard const lock(mutex_);
    if (at_end_ || stopped_) return false;
    number = first_ + slots_.size();
    slots_.push_back(std::make_unique<Slot>());
  }
  auto part = parts_->next();
  opening.unlock();
  Result<void> outcome;
  if (part && *part != nullptr) {
    outcome = read_rest(**part, number);
  } else if (!part) {
    outcome = propagate(std::move(part));
  }
  bool const is_last = !outcome || *part == nullptr;
  std::lock_guard const lock(mutex_);
  auto& read = slot(number);
  read.outcome = std::move(outcome);
  read.is_read = true;
  at_end_ = at_end_ || is_last;
  changed_.notify_all();
  return !at_end_;
}

Result<void> ReadAhead::read_rest(TablePart& part, std::size_t number) {
  while (true) {
    GARUDA_TRY_ASSIGN(auto batch, part.next());
    if (batch == nullptr || !leave(number, Rows{std::move(batch), part.fraction_read()})) return {};
  }
}

/// Waits until the batch may be left; false: nobody wants it any more.
bool ReadAhead::leave(std::size_t number, Rows rows) {
  auto const bytes = static_cast<std::uint64_t>(row_bytes(*rows.batch));
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return stopped_ || bytes_ + bytes <= most_bytes_ || (number == first_ && slot(number).waiting.empty());
  });
  if (stopped_) return false;
  slot(number).waiting.push_back({std::move(rows), bytes});
  bytes_ += bytes;
  changed_.notify_all();
  return true;
}

}  // namespace garuda::io
