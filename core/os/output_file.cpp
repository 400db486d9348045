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

Result<OutputFile> OutputFile::create(fs::path const& path, bool syncs) {
  std::error_code error;
  auto target = follow_links(path, error);
  if (error) return tl::unexpected(unwritable(path, system_message(error.default_error_condition().value())));
  auto const status = fs::status(target, error);
  if (fs::is_directory(status)) return tl::unexpected(unwritable(path, "it is a folder"));
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    return tl::unexpected(unwritable(path, "it is not a regular file"));
  }
  OutputFile file(path, std::move(target), syncs);
  GARUDA_TRY(file.create_temporary());
  return file;
}

OutputFile::OutputFile(fs::path path, fs::path target, bool syncs) noexcept
    : path_(std::move(path)), target_(std::move(target)), syncs_(syncs) {}

fs::path OutputFile::folder() const { return target_.has_parent_path() ? target_.parent_path() : "."; }

/// Calls `name` with temporary paths until one is free; 0 or an errno. They are short, whatever the file is called: a
/// name has 255 bytes at most.
template <class Name>
int OutputFile::name_temporarily(Name const& name) {
  constexpr int kMostAttempts = 16;
  std::random_device random;
  int error_number = EEXIST;
  for (int attempt = 0; attempt < kMostAttempts && error_number == EEXIST; ++attempt) {
    temporary_path_ = folder() / fmt::format(".garuda.{:08x}.part", random());
    error_number = name(temporary_path_);
  }
  return error_number;
}

Result<void> OutputFile::create_temporary() {
  auto const create = [this](fs::path const& temporary) {
    auto made = create_nameless_file(folder());
    if (made.descriptor < 0) {
      made = create_file(temporary);
      is_named_ = made.descriptor >= 0;
    }
    descriptor_ = made.descriptor;
    return made.error_number;
  };
  auto error_number = name_temporarily(create);
  if (error_number == 0) error_number = copy_permissions(target_, descriptor_);
  if (error_number != 0) return tl::unexpected(unwritable(path_, system_message(error_number)));
  return {};
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_path_(std::move(other.temporary_path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      is_named_(std::exchange(other.is_named_, false)),
      syncs_(other.syncs_) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  if (this != &other) {
    discard();
    path_ = std::move(other.path_);
    target_ = std::move(other.target_);
    temporary_path_ = std::move(other.temporary_path_);
    descriptor_ = std::exchange(other.descriptor_, -1);
    is_named_ = std::exchange(other.is_named_, false);
    syncs_ = other.syncs_;
  }
  return *this;
}

OutputFile::~OutputFile() { discard(); }

Result<int> OutputFile::open() {
  GARUDA_EXPECTS(descriptor_ >= 0);
  if (is_named_) return std::exchange(descriptor_, -1);
  // A nameless file lives while it is open.
  auto const second = duplicate(descriptor_);
  if (second.descriptor < 0) return tl::unexpected(unwritable(path_, system_message(second.error_number)));
  return second.descriptor;
}

/// 0 or an errno.
int OutputFile::put_in_place() {
  auto const link = [this](fs::path const& to) { return link_file(descriptor_, to); };
  if (!is_named_) {
    auto error_number = link(target_);
    if (error_number != EEXIST) return error_number;
    // A file that is there is replaced by renaming alone.
    error_number = link(temporary_path_);
    if (error_number == EEXIST) error_number = name_temporarily(link);
    if (error_number != 0) return error_number;
    is_named_ = true;
  }
  auto const error_number = rename_file(temporary_path_, target_);
  if (error_number == 0) is_named_ = false;
  return error_number;
}

Result<void> OutputFile::commit() {
  GARUDA_EXPECTS(is_named_ == (descriptor_ < 0));
  auto error_number = put_in_place();
  if (error_number == 0 && syncs_) error_number = sync_folder(folder());
  if (error_number != 0) return tl::unexpected(unwritable(path_, system_message(error_number)));
  return {};
}

void OutputFile::discard() noexcept {
  // Nothing of the file is wanted any more, so a failure to close or delete it changes nothing for the caller.
  if (descriptor_ >= 0) close_file(std::exchange(descriptor_, -1));
  if (std::exchange(is_named_, false)) delete_file(temporary_path_.c_str());
}

}  // namespace garuda::os
