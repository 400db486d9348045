#include "vk_runtime/device/process_end.hpp"

#include <atomic>
#include <mutex>
#include <vector>

namespace garuda::vk {
namespace {

std::atomic<bool> are_left{false};

}  // namespace

void leave_devices_to_process_end() noexcept { are_left = true; }
bool devices_are_left() noexcept { return are_left; }

void remember_left(void const* object) {
  static std::mutex mutex;
  static auto& left = *new std::vector<void const*>;  // never destroyed
  std::lock_guard const lock(mutex);
  left.push_back(object);
}

}  // namespace garuda::vk
