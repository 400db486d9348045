#include "vk_runtime/memory/copy_team.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/shortage.hpp"

namespace garuda::vk {

using Clock = std::chrono::steady_clock;

/// A group of copies. The team's lock guards all members but `after`.
class CopyGroup {
 public:
  std::vector<HostCopy> pieces;
  Ticket after;
  std::size_t next = 0;         // first piece that no thread has taken
  std::size_t left = 0;         // not finished
  std::vector<Ticket> tickets;  // the last of every thread
  std::uint64_t copied_bytes = 0;
  std::optional<Error> error;
  std::exception_ptr exception;
  std::optional<Clock::time_point> begun;
  Clock::time_point ended;
};

namespace {

std::vector<HostCopy> cut(std::vector<HostCopy> const& copies, std::uint64_t piece_bytes) {
  std::vector<HostCopy> pieces;
  for (auto const& copy : copies) {
    auto const most = copy.source == nullptr ? piece_bytes : kSourcePieceBytes;
    for (std::uint64_t done = 0; done < copy.bytes; done += most) {
      auto const bytes = std::min(most, copy.bytes - done);
      auto* const host = copy.source == nullptr ? copy.host + done : nullptr;
      pieces.push_back({copy.buffer, copy.offset + done, host, bytes, copy.source, copy.first + done});
    }
  }
  return pieces;
}

}  // namespace

Result<std::unique_ptr<CopyTeam>> CopyTeam::create(Device& device, Queue& fallback_queue,
                                                   CopyTeamOptions const& options) {
  GARUDA_EXPECTS(options.threads > 0 && options.piece_bytes > 0);
  auto team = std::unique_ptr<CopyTeam>(new CopyTeam(options));
  for (std::uint32_t i = 0; i < options.threads; ++i) {
    GARUDA_TRY_ASSIGN(auto transfer, Transfer::create(device, fallback_queue, options.transfer));
    team->transfers_.push_back(std::move(transfer));
  }
  for (std::size_t i = 0; i < options.threads; ++i) {
    try {
      team->threads_.emplace_back([&running = *team, i] { running.run(i); });
    } catch (...) {
      if (i > 0) break;  // fewer threads copy as well
      if (auto shortage = current_shortage()) return tl::unexpected(*std::move(shortage));
      throw;
    }
  }
  return team;
}

CopyTeam::~CopyTeam() {
  {
    std::lock_guard const lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  for (auto& thread : threads_) thread.join();
}

std::shared_ptr<CopyGroup> CopyTeam::start(std::vector<HostCopy> copies, Ticket after) {
  auto group = std::make_shared<CopyGroup>();
  group->pieces = cut(copies, options_.piece_bytes);
  group->after = after;
  group->left = group->pieces.size();
  group->tickets.resize(transfers_.size());
  if (group->left == 0) return group;
  {
    std::lock_guard const lock(mutex_);
    queue_.push_back(group);
  }
  work_.notify_all();
  return group;
}

Result<std::vector<Ticket>> CopyTeam::wait(CopyGroup& group) {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return group.left == 0; });
  if (group.exception) std::rethrow_exception(group.exception);
  if (group.error) return tl::unexpected<Error>(*group.error);
  auto tickets = group.tickets;
  std::erase_if(tickets, [](Ticket ticket) { return ticket.semaphore == VK_NULL_HANDLE; });
  return tickets;
}

std::uint64_t CopyTeam::elapsed_ns(CopyGroup const& group) noexcept {
  if (!group.begun) return 0;
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(group.ended - *group.begun).count());
}

std::uint64_t CopyTeam::copied_bytes(CopyGroup const& group) noexcept { return group.copied_bytes; }

/// Makes the bytes where the device reads them, or first. These are let go of at once, so a device that reads them in
/// place is waited for.
Result<Ticket> CopyTeam::copy_made(Transfer& transfer, CopyGroup const& group, HostCopy const& piece) {
  if (auto* const mapped = piece.buffer->mapped(); mapped != nullptr && transfer.mode() == UploadMode::map) {
    GARUDA_TRY(transfer.wait(group.after, options_.wait));
    piece.source->write(piece.first, {mapped + piece.offset, piece.bytes});
    GARUDA_TRY(piece.buffer->flush(piece.offset, piece.bytes));
    return Ticket{};
  }
  std::vector<std::byte> made(piece.bytes);
  piece.source->write(piece.first, made);
  GARUDA_TRY_ASSIGN(auto const ticket, transfer.upload(*piece.buffer, piece.offset, made, group.after, options_.wait));
  if (transfer.mode() == UploadMode::import_host) GARUDA_TRY(transfer.wait(ticket, options_.wait));
  return ticket;
}

Result<Ticket> CopyTeam::copy_up(Transfer& transfer, CopyGroup const& group, HostCopy const& piece) {
  if (piece.source != nullptr) return copy_made(transfer, group, piece);
  GARUDA_TRY_ASSIGN(auto const ticket, transfer.upload(*piece.buffer, piece.offset, {piece.host, piece.bytes},
                                                       group.after, options_.wait));
  // A piece that the device reads in place is done when it has read it: so pieces are taken, and timed, at its pace.
  bool const in_place = options_.transfer.use_pinned || transfer.mode() == UploadMode::import_host;
  if (in_place) GARUDA_TRY(transfer.wait(ticket, options_.wait));
  return ticket;
}

Result<Ticket> CopyTeam::copy(Transfer& transfer, CopyGroup const& group, HostCopy const& piece) {
  if (options_.direction == CopyDirection::up) return copy_up(transfer, group, piece);
  GARUDA_TRY(transfer.download(*piece.buffer, piece.offset, {piece.host, piece.bytes}, group.after, options_.wait));
  return Ticket{};
}

void CopyTeam::run(std::size_t worker) {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    if (stopping_) return;
    auto const group = queue_.front();
    auto const position = group->next++;
    if (group->next == group->pieces.size()) queue_.pop_front();
    if (!group->begun) group->begun = Clock::now();
    bool const is_spoilt = group->error || group->exception;
    lock.unlock();
    auto& transfer = *transfers_[worker];
    auto const copied_before = transfer.uploaded_bytes() + transfer.downloaded_bytes();
    Result<Ticket> copied = Ticket{};
    std::exception_ptr exception;
    if (!is_spoilt) {
      try {
        copied = copy(transfer, *group, group->pieces[position]);
      } catch (...) {
        if (auto shortage = current_shortage())
          copied = tl::unexpected(std::move(*shortage).wrap("cannot copy to or from the device"));
        else
          exception = std::current_exception();
      }
    }
    lock.lock();
    if (!copied && !group->error) group->error = std::move(copied).error();
    if (copied && copied->semaphore != VK_NULL_HANDLE) group->tickets[worker] = *copied;
    if (exception && !group->exception) group->exception = exception;
    group->copied_bytes += transfer.uploaded_bytes() + transfer.downloaded_bytes() - copied_before;
    if (--group->left == 0) {
      group->ended = Clock::now();
      done_.notify_all();
    }
  }
}

}  // namespace garuda::vk
