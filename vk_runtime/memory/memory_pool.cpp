#include "vk_runtime/memory/memory_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "vk_runtime/result.hpp"

namespace garuda::vk {
namespace {

VkMemoryPropertyFlags flags_of(MemoryType const& type) noexcept {
  VkMemoryPropertyFlags flags = 0;
  if (type.device_local) flags |= VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  if (type.host_visible) flags |= VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
  if (type.host_coherent) flags |= VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  if (type.host_cached) flags |= VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  return flags;
}

/// Share of the largest device-local heap, 1 / kKeptShare, that blocks kept for reuse may take.
constexpr std::uint64_t kKeptShare = 8;

/// Whether the block serves any other request of its type later.
bool is_reusable(BlockRequest const& request) noexcept {
  return request.dedicated_buffer == VK_NULL_HANDLE && request.dedicated_image == VK_NULL_HANDLE &&
         request.exported_handles == 0 && request.imported_host_pointer == nullptr;
}

/// vkAllocateMemory with the structures that `request` takes.
Result<VkDeviceMemory> allocate_memory(DeviceHandle device, bool addresses, BlockRequest const& request) {
  VkMemoryDedicatedAllocateInfo dedicated{.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO,
                                          .image = request.dedicated_image,
                                          .buffer = request.dedicated_buffer};
  VkImportMemoryHostPointerInfoEXT import{.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
                                          .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
                                          .pHostPointer = request.imported_host_pointer};
  VkExportMemoryAllocateInfo exported{.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
                                      .handleTypes = request.exported_handles};
  VkMemoryAllocateFlagsInfo flags{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                  .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
  void const* next = nullptr;
  if (addresses) next = &flags;
  if (request.dedicated_buffer != VK_NULL_HANDLE || request.dedicated_image != VK_NULL_HANDLE) {
    dedicated.pNext = std::exchange(next, &dedicated);
  }
  if (request.exported_handles != 0) exported.pNext = std::exchange(next, &exported);
  if (request.imported_host_pointer != nullptr) import.pNext = std::exchange(next, &import);
  VkMemoryAllocateInfo const info{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                  .pNext = next,
                                  .allocationSize = request.bytes,
                                  .memoryTypeIndex = request.type};
  VkDeviceMemory memory = VK_NULL_HANDLE;
  if (auto made = check(device.fn->vkAllocateMemory(device.device, &info, nullptr, &memory), "vkAllocateMemory");
      !made) {
    return tl::unexpected<Error>(std::move(made).error().wrap(
        fmt::format("cannot allocate device memory of type {}, bytes: {}", request.type, request.bytes)));
  }
  return memory;
}

}  // namespace

MemoryBlock::MemoryBlock(MemoryBlock&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)),
      memory_(std::move(other.memory_)),
      bytes_(other.bytes_),
      type_(other.type_),
      mapped_(std::exchange(other.mapped_, nullptr)),
      imported_(other.imported_),
      reusable_(other.reusable_) {}

MemoryBlock& MemoryBlock::operator=(MemoryBlock&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(memory_, other.memory_);
  std::swap(bytes_, other.bytes_);
  std::swap(type_, other.type_);
  std::swap(mapped_, other.mapped_);
  std::swap(imported_, other.imported_);
  std::swap(reusable_, other.reusable_);
  return *this;
}

MemoryBlock::~MemoryBlock() {
  if (pool_ != nullptr) pool_->give_back(*this);
}

MemoryPool::MemoryPool(DeviceHandle device, VkPhysicalDevice physical, DeviceTraits const& traits,
                       std::uint64_t limit_bytes)
    : device_(device), physical_(physical), traits_(traits), limit_bytes_(limit_bytes) {}

MemoryPool::~MemoryPool() { trim(); }

Result<MemoryBlock> MemoryPool::allocate(BlockRequest const& request) {
  GARUDA_EXPECTS(request.bytes > 0 && request.type < traits_.memory_types.size());
  GARUDA_EXPECTS(request.dedicated_buffer == VK_NULL_HANDLE || request.dedicated_image == VK_NULL_HANDLE);
  GARUDA_TRY(count_request("a memory block"));
  if (auto kept = take_kept(request); kept.pool_ != nullptr) return kept;
  auto block = allocate_new(request);
  if (block || block.error().code() != ErrorCode::out_of_memory || kept_bytes() == 0) return block;
  // The driver may have more to give once the kept blocks are back.
  trim();
  return allocate_new(request);
}

Result<MemoryBlock> MemoryPool::allocate_new(BlockRequest const& request) {
  GARUDA_TRY(reserve(request));
  // From here on the block gives back what was reserved, whatever happens.
  MemoryBlock block;
  block.pool_ = this;
  block.bytes_ = request.bytes;
  block.type_ = request.type;
  block.imported_ = request.imported_host_pointer != nullptr;
  GARUDA_TRY_ASSIGN(VkDeviceMemory const memory,
                    allocate_memory(device_, traits_.features.buffer_device_address, request));
  block.memory_ = Unique<VkDeviceMemory>(device_, memory);
  if (traits_.memory_types[request.type].host_visible && !block.imported_) {
    void* mapped = nullptr;
    GARUDA_TRY(check(device_.fn->vkMapMemory(device_.device, memory, 0, VK_WHOLE_SIZE, 0, &mapped), "vkMapMemory"));
    block.mapped_ = static_cast<std::byte*>(mapped);
  }
  if (is_reusable(request)) {
    std::lock_guard const lock(mutex_);
    kept_.reserve(reusable_blocks_ + 1);
    ++reusable_blocks_;
    block.reusable_ = true;
  }
  return block;
}

MemoryBlock MemoryPool::take_kept(BlockRequest const& request) {
  if (!is_reusable(request)) return {};
  std::lock_guard const lock(mutex_);
  auto best = kept_.end();
  for (auto block = kept_.begin(); block != kept_.end(); ++block) {
    auto const fits = block->type_ == request.type && block->bytes_ >= request.bytes &&
                      block->bytes_ - request.bytes <= request.bytes / 2;
    if (fits && (best == kept_.end() || block->bytes_ < best->bytes_)) best = block;
  }
  // A limit that was lowered since holds for kept blocks too.
  if (best == kept_.end() || (charged(request.type) && limit_bytes_ != 0 && used_bytes_ + best->bytes_ > limit_bytes_))
    return {};
  auto taken = std::move(*best);
  kept_.erase(best);
  taken.pool_ = this;
  kept_bytes_ -= taken.bytes_;
  if (charged(taken.type_)) used_bytes_ += taken.bytes_;
  return taken;
}

void MemoryPool::give_back(MemoryBlock& block) noexcept {
  MemoryBlock freed = std::move(block);  // destroyed after the lock is released
  std::lock_guard const lock(mutex_);
  freed.pool_ = nullptr;
  if (charged(freed.type_) && !freed.imported_) used_bytes_ -= freed.bytes_;
  auto const largest = traits_.device_local_bytes() / kKeptShare;
  if (freed.reusable_ && kept_bytes_ + freed.bytes_ <= largest) {
    kept_bytes_ += freed.bytes_;
    kept_.push_back(std::move(freed));
    return;
  }
  if (freed.reusable_) --reusable_blocks_;
  --blocks_;
}

std::vector<MemoryBlock> MemoryPool::forget_kept() noexcept {
  auto const count = static_cast<std::uint32_t>(kept_.size());
  blocks_ -= count;
  reusable_blocks_ -= count;
  kept_bytes_ = 0;
  return std::exchange(kept_, {});
}

void MemoryPool::trim() {
  std::vector<MemoryBlock> freed;  // after the lock
  std::lock_guard const lock(mutex_);
  freed = forget_kept();
  kept_.reserve(reusable_blocks_);
}

bool MemoryPool::charged(std::uint32_t type) const noexcept { return traits_.memory_types[type].device_local; }

Result<void> MemoryPool::reserve(BlockRequest const& request) {
  std::lock_guard const lock(mutex_);
  auto fits = check_fits(request);
  if (!fits && !kept_.empty()) {
    forget_kept();  // under the lock: the budget is read again below
    kept_.reserve(reusable_blocks_);
    fits = check_fits(request);
  }
  GARUDA_TRY(std::move(fits));
  if (request.imported_host_pointer == nullptr && charged(request.type)) used_bytes_ += request.bytes;
  ++blocks_;
  return {};
}

Result<void> MemoryPool::check_fits(BlockRequest const& request) const {
  if (request.bytes > traits_.limits.max_memory_allocation_size) {
    return fail(ErrorCode::out_of_memory, fmt::format("allocation larger than the device's largest, {} bytes: {}",
                                                      traits_.limits.max_memory_allocation_size, request.bytes));
  }
  if (blocks_ >= traits_.limits.max_memory_allocation_count) {
    return fail(ErrorCode::out_of_memory, fmt::format("all memory allocations of the device are in use: {}", blocks_));
  }
  if (request.imported_host_pointer != nullptr) return {};
  if (charged(request.type) && limit_bytes_ != 0 &&
      request.bytes > limit_bytes_ - std::min(limit_bytes_, charged_bytes())) {
    return fail(ErrorCode::limit_exceeded,
                fmt::format("device memory limit of {} bytes, {} of them in use, is too small for another: {}",
                            limit_bytes_, used_bytes_, request.bytes));
  }
  std::uint64_t const left = heap_bytes_left(traits_.memory_types[request.type].heap);
  if (request.bytes > left) {
    return fail(ErrorCode::out_of_memory,
                fmt::format("device memory has {} bytes left, too few for another: {}", left, request.bytes));
  }
  return {};
}

std::uint64_t MemoryPool::kept_bytes_in(std::uint32_t heap) const noexcept {
  std::uint64_t bytes = 0;
  for (auto const& block : kept_)
    if (traits_.memory_types[block.type_].heap == heap) bytes += block.bytes_;
  return bytes;
}

std::uint64_t MemoryPool::charged_bytes() const noexcept {
  auto bytes = used_bytes_;
  for (auto const& block : kept_)
    if (charged(block.type_)) bytes += block.bytes_;
  return bytes;
}

std::uint64_t MemoryPool::heap_bytes_left(std::uint32_t heap) const {
  if (!traits_.features.memory_budget) {
    bool const device_local = traits_.heaps[heap].device_local;
    auto const taken = device_local ? charged_bytes() : 0;
    return traits_.heaps[heap].bytes - std::min(traits_.heaps[heap].bytes, taken);
  }
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{.sType =
                                                       VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
  VkPhysicalDeviceMemoryProperties2 properties{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2,
                                               .pNext = &budget};
  vkGetPhysicalDeviceMemoryProperties2(physical_, &properties);
  return budget.heapBudget[heap] - std::min(budget.heapBudget[heap], budget.heapUsage[heap]);
}

std::optional<std::uint32_t> MemoryPool::find_type(std::uint32_t allowed_types, VkMemoryPropertyFlags required,
                                                   VkMemoryPropertyFlags preferred) const noexcept {
  std::optional<std::uint32_t> best;
  int best_score = -1;
  for (std::uint32_t i = 0; i < traits_.memory_types.size(); ++i) {
    MemoryType const& type = traits_.memory_types[i];
    VkMemoryPropertyFlags const flags = flags_of(type);
    if (((allowed_types >> i) & 1U) == 0 || type.special || (flags & required) != required) continue;
    int const score = std::popcount(flags & preferred);
    if (score > best_score) {
      best = i;
      best_score = score;
    }
  }
  return best;
}

std::uint64_t MemoryPool::used_bytes() const {
  std::lock_guard const lock(mutex_);
  return used_bytes_;
}

std::uint64_t MemoryPool::kept_bytes() const {
  std::lock_guard const lock(mutex_);
  return kept_bytes_;
}

std::uint64_t MemoryPool::limit_bytes() const {
  std::lock_guard const lock(mutex_);
  return limit_bytes_;
}

void MemoryPool::set_limit_bytes(std::uint64_t limit_bytes) {
  std::lock_guard const lock(mutex_);
  limit_bytes_ = limit_bytes;
}

std::uint64_t MemoryPool::available_bytes() const {
  std::lock_guard const lock(mutex_);
  std::uint64_t left = 0;
  for (std::uint32_t heap = 0; heap < traits_.heaps.size(); ++heap) {
    if (traits_.heaps[heap].device_local) left = std::max(left, heap_bytes_left(heap) + kept_bytes_in(heap));
  }
  return limit_bytes_ == 0 ? left : std::min(left, limit_bytes_ - std::min(limit_bytes_, used_bytes_));
}

void MemoryPool::inject_failure(std::optional<std::uint64_t> countdown) {
  std::lock_guard const lock(mutex_);
  failure_countdown_ = countdown;
}

bool MemoryPool::failure_pending() const {
  std::lock_guard const lock(mutex_);
  return failure_countdown_.has_value();
}

Result<void> MemoryPool::count_request(std::string_view what) {
  std::lock_guard const lock(mutex_);
  if (!failure_countdown_ || --*failure_countdown_ > 0) return {};
  failure_countdown_.reset();
  return fail(ErrorCode::out_of_memory, fmt::format("failure injected by a test into the allocation of {}", what));
}

}  // namespace garuda::vk
