#include "core/os/output_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <random>
#include <utility>

#include "core/os/file.hpp"

namespace garuda::os {
namespace {

namespace fs = std::filesystem;

Error unwritable(fs::path const& path, std::string reason) {
  return Error(ErrorCode::output, std::move(reason)).wrap("cannot write " + path.string());
}

/// Where a file that is written to `path` appears, through every symbolic link, those to nothing included, which
/// weakly_canonical leaves as they are.
fs::path follow_links(fs::path path, std::error_code& error) {
  constexpr int kMostLinks = 40;  // as Linux follows
  for (int links = 0; links < kMostLinks; ++links) {
    path = fs::weakly_canonical(path, error);
    std::error_code missing;
    if (error || !fs::is_symlink(fs::symlink_status(path, missing))) break;
    auto const next = fs::read_symlink(path, error);
    if (error) break;
    path = path.parent_path() / next;
  }
  return path;
}

}  // namespace

Result<OutputFile> OutputFile::create(fs::path const& path) {
  std::error_code error;
  auto target = follow_links(path, error);
  if (error) return tl::unexpected(unwritable(path, system_message(error.default_error_condition().value())));
  auto const status = fs::status(target, error);
  if (fs::is_directory(status)) return tl::unexpected(unwritable(path, "it is a folder"));
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    return tl::unexpected(unwritable(path, "it is not a regular file"));
  }
  OutputFile file(path, std::move(target));
  GARUDA_TRY(file.open_temporary());
  return file;
}

OutputFile::OutputFile(fs::path path, fs::path target) noexcept : path_(std::move(path)), target_(std::move(target)) {}

Result<void> OutputFile::open_temporary() {
  constexpr int kMostAttempts = 16;
  int last_error = 0;
  std::random_device random;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    auto const name = fmt::format(".{}.{:08x}.part", target_.filename().string(), random());
    auto const temporary = target_.parent_path() / name;
    auto const made = create_file(temporary);
    if (made.descriptor >= 0) {
      descriptor_ = made.descriptor;
      temporary_path_ = temporary;
      auto const error_number = copy_permissions(target_, descriptor_);
      if (error_number != 0) return tl::unexpected(unwritable(path_, system_message(error_number)));
      return {};
    }
    last_error = made.error_number;
    if (last_error != EEXIST) break;
  }
  return tl::unexpected(unwritable(path_, system_message(last_error)));
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_path_(std::exchange(other.temporary_path_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  if (this != &other) {
    discard();
    path_ = std::move(other.path_);
    target_ = std::move(other.target_);
    temporary_path_ = std::exchange(other.temporary_path_, {});
    descriptor_ = std::exchange(other.descriptor_, -1);
  }
  return *this;
}

OutputFile::~OutputFile() { discard(); }

int OutputFile::release_descriptor() noexcept { return std::exchange(descriptor_, -1); }

Result<void> OutputFile::commit() {
  GARUDA_EXPECTS(!temporary_path_.empty() && descriptor_ == -1);
  if (auto const error_number = rename_file(temporary_path_, target_); error_number != 0)
    return tl::unexpected(unwritable(path_, system_message(error_number)));
  temporary_path_.clear();
  return {};
}

void OutputFile::discard() noexcept {
  // Nothing of the file is wanted any more, so a failure to close or delete it changes nothing for the caller.
  if (descriptor_ >= 0) close_file(std::exchange(descriptor_, -1));
  if (!temporary_path_.empty()) delete_file(temporary_path_.c_str());
  temporary_path_.clear();
}

}  // namespace garuda::os
