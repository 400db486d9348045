#include "operators/rates/measuring_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

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
  auto const descriptor = ::open((folder / "measuring.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) return std::nullopt;
  MeasuringLock lock(folder, descriptor);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) return std::nullopt;
  return lock;
}

MeasuringLock::MeasuringLock(MeasuringLock&& other) noexcept
    : folder_(std::move(other.folder_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

MeasuringLock& MeasuringLock::operator=(MeasuringLock&& other) noexcept {
  std::swap(folder_, other.folder_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

MeasuringLock::~MeasuringLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
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
