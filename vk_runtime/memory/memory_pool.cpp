#include "vk_runtime/memory/memory_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "vk_runtime/device/instance.hpp"

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

/// How long what a driver refused counts as not there.
constexpr std::chrono::seconds kRemembered{10};

std::mutex given_mutex;
std::optional<GivenMemory> given_memory;  // of tests

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

void inject_given_memory(std::optional<GivenMemory> given) {
  std::lock_guard const lock(given_mutex);
  given_memory = std::move(given);
}

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

MemoryPool::~MemoryPool() { forget_kept(); }

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
  auto allocated = allocate_memory(device_, traits_.features.buffer_device_address, request);
  if (!allocated && allocated.error().code() == ErrorCode::out_of_memory) remember_refusal(request);
  GARUDA_TRY_ASSIGN(VkDeviceMemory const memory, std::move(allocated));
  block.memory_ = Unique<VkDeviceMemory>(device_, memory);
  if (traits_.memory_types[request.type].host_visible && !block.imported_) {
    void* mapped = nullptr;
    GARUDA_TRY(check(device_.fn->vkMapMemory(device_.device, memory, 0, VK_WHOLE_SIZE, 0, &mapped), "vkMapMemory"));
    block.mapped_ = static_cast<std::byte*>(mapped);
  }
  std::lock_guard const lock(mutex_);
  auto const heap = traits_.memory_types[request.type].heap;
  // The refused block was too large, then, for a heap that has more.
  if (refusals_[heap] && held_[heap] > refusals_[heap]->room) refusals_[heap].reset();
  if (is_reusable(request)) {
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
  // The list does not grow here: nothing is kept where there was no memory for its places.
  if (freed.reusable_ && kept_bytes_ + freed.bytes_ <= largest && kept_.size() < kept_.capacity()) {
    kept_bytes_ += freed.bytes_;
    kept_.push_back(std::move(freed));
    return;
  }
  if (freed.reusable_) --reusable_blocks_;
  forget_bytes(freed);
  --blocks_;
}

std::vector<MemoryBlock> MemoryPool::forget_kept() noexcept {
  auto const count = static_cast<std::uint32_t>(kept_.size());
  blocks_ -= count;
  reusable_blocks_ -= count;
  kept_bytes_ = 0;
  for (auto const& block : kept_) forget_bytes(block);
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
  GARUDA_TRY(injected_refusal(request));
  if (request.imported_host_pointer == nullptr) {
    if (charged(request.type)) used_bytes_ += request.bytes;
    held_[traits_.memory_types[request.type].heap] += request.bytes;
  }
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
  std::uint64_t const left = said_bytes_left(traits_.memory_types[request.type].heap);
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

void MemoryPool::forget_bytes(MemoryBlock const& block) noexcept {
  if (!block.imported_) held_[traits_.memory_types[block.type_].heap] -= block.bytes_;
}

Result<void> MemoryPool::injected_refusal(BlockRequest const& request) {
  std::lock_guard const given_lock(given_mutex);
  if (!given_memory || request.imported_host_pointer != nullptr) return {};
  auto const heap = traits_.memory_types[request.type].heap;
  auto const& rooms = given_memory->heap_bytes;
  bool const fits = heap >= rooms.size() || held_[heap] + request.bytes <= rooms[heap];
  if (fits && request.bytes <= given_memory->largest_block) return {};
  remember_room(heap, held_[heap] + request.bytes - 1);
  return fail(ErrorCode::out_of_memory, fmt::format("refused by a test, of heap {}, bytes: {}", heap, request.bytes));
}

void MemoryPool::remember_refusal(BlockRequest const& request) {
  if (request.imported_host_pointer != nullptr) return;
  auto const heap = traits_.memory_types[request.type].heap;
  std::lock_guard const lock(mutex_);
  remember_room(heap, held_[heap] - 1);  // of the request, too
}

void MemoryPool::remember_room(std::uint32_t heap, std::uint64_t room) {
  auto const now = std::chrono::steady_clock::now();
  auto& refusal = refusals_[heap];
  // A block that was far too large says nothing new.
  if (!refusal || now >= refusal->until || room < refusal->room) refusal = {room, now + kRemembered};
}

std::uint64_t MemoryPool::heap_bytes_left(std::uint32_t heap) const {
  auto const said = said_bytes_left(heap);
  auto const room = refused_bytes_left(heap);
  return room ? std::min(said, *room) : said;
}

std::optional<std::uint64_t> MemoryPool::refused_bytes_left(std::uint32_t heap) const {
  auto const& refusal = refusals_[heap];
  if (!refusal || std::chrono::steady_clock::now() >= refusal->until) return std::nullopt;
  return refusal->room - std::min(refusal->room, held_[heap]);
}

std::optional<std::uint64_t> MemoryPool::room_after_refusal() const {
  std::lock_guard const lock(mutex_);
  std::optional<std::uint64_t> least;
  for (std::uint32_t heap = 0; heap < traits_.heaps.size(); ++heap) {
    if (!traits_.heaps[heap].device_local && !traits_.shares_memory()) continue;
    if (auto const room = refused_bytes_left(heap))
      least = std::min(least.value_or(~std::uint64_t{0}), *room + kept_bytes_in(heap));
  }
  return least;
}

std::uint64_t MemoryPool::said_bytes_left(std::uint32_t heap) const {
  if (!traits_.features.memory_budget) {
    return traits_.heaps[heap].bytes - std::min(traits_.heaps[heap].bytes, held_[heap]);
  }
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{.sType =
                                                       VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
  VkPhysicalDeviceMemoryProperties2 properties{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2,
                                               .pNext = &budget};
  vkGetPhysicalDeviceMemoryProperties2(physical_, &properties);
  return budget.heapBudget[heap] - std::min(budget.heapBudget[heap], budget.heapUsage[heap]);
}

std::vector<std::uint32_t> MemoryPool::find_types(std::uint32_t allowed_types, VkMemoryPropertyFlags required,
                                                  VkMemoryPropertyFlags preferred) const {
  std::vector<std::uint32_t> types;
  for (std::uint32_t i = 0; i < traits_.memory_types.size(); ++i) {
    MemoryType const& type = traits_.memory_types[i];
    if (((allowed_types >> i) & 1U) != 0 && !type.special && (flags_of(type) & required) == required)
      types.push_back(i);
  }
  std::ranges::stable_sort(types, std::ranges::greater{}, [&](std::uint32_t type) {
    return std::popcount(flags_of(traits_.memory_types[type]) & preferred);
  });
  return types;
}

std::optional<std::uint32_t> MemoryPool::find_type(std::uint32_t allowed_types, VkMemoryPropertyFlags required,
                                                   VkMemoryPropertyFlags preferred) const {
  auto const types = find_types(allowed_types, required, preferred);
  return types.empty() ? std::nullopt : std::optional(types.front());
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
    if (traits_.heaps[heap].device_local || traits_.shares_memory())
      left = std::max(left, heap_bytes_left(heap) + kept_bytes_in(heap));
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
