#include "vk_runtime/device/process_end.hpp"

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

namespace garuda::vk {
namespace {

std::atomic<bool> are_left{false};

/// Never destroyed: their functions went with their owners.
template <class Handle>
void keep_for_ever(Unique<Handle> handle) {
  static std::mutex mutex;
  static auto& kept = *new std::vector<Unique<Handle>>;
  std::lock_guard const lock(mutex);
  kept.push_back(std::move(handle));
}

}  // namespace

void leave_devices_to_process_end() noexcept { are_left = true; }
bool devices_are_left() noexcept { return are_left; }

void leave(Unique<VkDevice> device) { keep_for_ever(std::move(device)); }
void leave(Unique<VkInstance> instance) { keep_for_ever(std::move(instance)); }

}  // namespace garuda::vk
