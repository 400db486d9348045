// A folder that lives as long as a test.
#pragma once

#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>

namespace garuda::vk {

class ScratchFolder {
 public:
  ScratchFolder() {
    constexpr int kMostAttempts = 16;
    std::random_device random;
    for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
      path_ = std::filesystem::temp_directory_path() / ("garuda-test-" + std::to_string(random()));
      if (std::filesystem::create_directory(path_)) return;
    }
    throw std::runtime_error("no folder could be made: " + path_.string());
  }
  ScratchFolder(ScratchFolder const&) = delete;
  ScratchFolder& operator=(ScratchFolder const&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::filesystem::path const& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace garuda::vk
