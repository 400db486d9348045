#include "vk_runtime/device/process_end.hpp"

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

namespace garuda::vk {
namespace {

std::atomic<bool> are_left{false};

}  // namespace

void leave_devices_to_process_end() noexcept { are_left = true; }
bool devices_are_left() noexcept { return are_left; }

void leave(std::shared_ptr<void> owner) {
  static std::mutex mutex;
  static auto& left = *new std::vector<std::shared_ptr<void>>;  // never destroyed
  std::lock_guard const lock(mutex);
  left.push_back(std::move(owner));
}

}  // namespace garuda::vk
