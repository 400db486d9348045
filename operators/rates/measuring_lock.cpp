#include "operators/rates/measuring_lock.hpp"

#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

namespace garuda::rates {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::hours kLately{24};

fs::path mark_of(fs::path const& folder, std::string const& file) { return folder / (file + ".failed"); }

}  // namespace

std::optional<MeasuringLock> MeasuringLock::take(fs::path const& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  auto lock = os::FileLock::take(folder / "measuring.lock");
  if (!lock) return std::nullopt;
  return MeasuringLock(folder, *std::move(lock));
}

bool MeasuringLock::failed_lately(std::string const& file) const {
  std::error_code error;
  auto const mark = mark_of(folder_, file);
  auto const when = fs::last_write_time(mark, error);
  if (error || fs::file_time_type::clock::now() - when > kLately) return false;
  std::ifstream in(mark);
  return std::string(std::istreambuf_iterator<char>(in), {}) == GARUDA_VERSION;
}

void MeasuringLock::remember_failure(std::string const& file) const {
  std::ofstream(mark_of(folder_, file)) << GARUDA_VERSION;
}

}  // namespace garuda::rates
