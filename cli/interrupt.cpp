#include "cli/interrupt.hpp"

#include <chrono>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "cli/exit_code.hpp"
#include "cli/terminal.hpp"
#include "core/os/file.hpp"
#include "core/os/memory.hpp"
#include "core/os/process.hpp"
#include "core/os/signals.hpp"
#include "core/shortage.hpp"

namespace garuda::cli {
namespace {

// A signal handler has no argument to find its state by, so this state is the process's.
std::atomic<bool> interrupt_flag{false};
std::atomic<bool> sentence_claimed{false};
std::atomic<std::thread::id> keeper{};  // the thread that has a whole result; none before there is one
using FileName = std::filesystem::path::value_type const*;
std::atomic<FileName> temporary_file{nullptr};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<FileName>::is_always_lock_free);

constexpr int kExitInterrupted = 130;
/// For the work to stop by itself. Whoever presses Ctrl-C waits no longer than about 200 ms, the freeing of the
/// process's memory included, and most phases look at the flag every few; a row group of Parquet, a driver's compiler
/// or a batch of long strings can take seconds.
constexpr std::chrono::milliseconds kGrace{100};

std::terminate_handler usual_terminate = nullptr;

/// Calls functions only that a signal handler may call.
[[noreturn]] void end_at_once(int code = kExitInterrupted) noexcept {
  if (auto const* path = temporary_file.load()) os::delete_file(path);
  os::end_at_once(code);
}

/// Other threads go on meanwhile, and may come here too: the first one speaks.
[[noreturn]] void on_terminate() {
  static std::atomic_flag entered;
  std::optional<int> code;
  try {
    if (auto const shortage = current_shortage()) {
      auto const keeps = keeper.load();
      bool const is_late = keeps != std::thread::id() && keeps != std::this_thread::get_id();
      if (is_late || entered.test_and_set()) std::this_thread::sleep_for(std::chrono::hours(1));
      code = report(*shortage);
    }
  } catch (...) {  // not even the sentence finds memory
    write_error("garuda: out of host memory\n");
    code = exit_code(ErrorCode::out_of_memory);
  }
  if (code) end_at_once(*code);
  usual_terminate();
  std::abort();
}

/// Address space that a library's thread reserves for its heap and stack, about.
constexpr std::size_t kThreadBytes = std::size_t{128} << 20;

/// The C library and Arrow's checks abort where they find no memory; any other abort is a bug, and goes on.
void on_abort() {
  if (os::has_address_space(kThreadBytes)) return;
  if (!has_reported()) write_error("garuda: out of host memory\n");
  end_at_once(exit_code(ErrorCode::out_of_memory));
}

/// Files are mapped, and somebody has cut off what is read of one.
void on_cut_file() {
  if (!has_reported()) write_error("garuda: an input file became shorter while it was read\n");
  end_at_once(exit_code(ErrorCode::invalid_input));
}

void on_interrupt() {
  if (interrupt_flag.exchange(true)) end_at_once();
  os::start_alarm(kGrace);
}

void on_grace_over() {
  if (claim_interrupt_sentence()) write_error("garuda: interrupted\n");
  end_at_once();
}

}  // namespace

void install_signal_handlers() noexcept {
  os::handle_alarm(on_grace_over);
  os::handle_interrupts(on_interrupt);
}

void install_terminate_handler() noexcept {
  usual_terminate = std::set_terminate(on_terminate);
  os::handle_abort(on_abort);
  os::handle_cut_file(on_cut_file);
  os::prepare_thread_ends();
}

void keep_the_result() noexcept { keeper = std::this_thread::get_id(); }

std::atomic<bool> const& interrupted() noexcept { return interrupt_flag; }

bool claim_interrupt_sentence() noexcept { return !sentence_claimed.exchange(true); }

TemporaryFileGuard::TemporaryFileGuard(std::filesystem::path path) {
  GARUDA_EXPECTS(temporary_file.load() == nullptr);
  // Never freed: a handler on another thread may be reading it when the guard goes.
  static auto& kept = *new std::filesystem::path;
  kept = std::move(path);
  temporary_file.store(kept.c_str());
}

TemporaryFileGuard::~TemporaryFileGuard() { temporary_file.store(nullptr); }

}  // namespace garuda::cli
