#include "vk_runtime/memory/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace garuda::vk {
namespace {

/// Drivers pin host memory page by page and clear the device's, so small queries do not take whole blocks. NVIDIA's
/// (580, an H200) takes 0.18 ms for 64 KiB of host memory and 0.36 for 1 MiB, for 1, 16 and 64 MiB of its own 0.46,
/// 0.51, 1.46.
constexpr std::uint64_t kFirstHostBlockBytes = std::uint64_t{256} << 10;
constexpr std::uint64_t kFirstDeviceBlockBytes = std::uint64_t{16} << 20;

constexpr std::uint64_t kBufferGranule = 16;

std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}
std::uint64_t align_down(std::uint64_t value, std::uint64_t alignment) { return value / alignment * alignment; }

VkBufferUsageFlags buffer_usage(DeviceTraits const& traits, VkBufferUsageFlags extra) {
  VkBufferUsageFlags usage =
      VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT | extra;
  if (traits.features.buffer_device_address) usage |= VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  return usage;
}

Result<void> check_extent(DeviceTraits const& traits, ImageSpec const& spec) {
  bool const drawn = (spec.usage & VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT) != 0;
  std::uint32_t const extent = drawn ? traits.max_render_extent() : traits.limits.max_image_2d;
  if (spec.width > extent || spec.height > extent) {
    return fail(ErrorCode::limit_exceeded, fmt::format("image \"{}\" larger than the device's largest, {}x{}: {}x{}",
                                                       spec.name, extent, extent, spec.width, spec.height));
  }
  if (spec.layers > traits.limits.max_image_array_layers) {
    return fail(ErrorCode::limit_exceeded, fmt::format("image \"{}\" has more layers than the device's most, {}: {}",
                                                       spec.name, traits.limits.max_image_array_layers, spec.layers));
  }
  return {};
}

/// Memory requirements with the question whether the resource must have memory of its own.
struct Requirements {
  VkMemoryRequirements memory{};
  bool dedicated = false;
};

/// Asks by `get`, a function of the device's table.
template <class Get, class Info>
Requirements ask(Device const& device, Get VolkDeviceTable::*get, Info const& info) {
  VkMemoryDedicatedRequirements dedicated{.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS};
  VkMemoryRequirements2 requirements{.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2, .pNext = &dedicated};
  (device.fn().*get)(device.handle(), &info, &requirements);
  return {requirements.memoryRequirements, dedicated.requiresDedicatedAllocation == VK_TRUE};
}

Requirements requirements_of(Device const& device, VkBuffer buffer) {
  return ask(
      device, &VolkDeviceTable::vkGetBufferMemoryRequirements2,
      VkBufferMemoryRequirementsInfo2{.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_REQUIREMENTS_INFO_2, .buffer = buffer});
}

Requirements requirements_of(Device const& device, VkImage image) {
  return ask(
      device, &VolkDeviceTable::vkGetImageMemoryRequirements2,
      VkImageMemoryRequirementsInfo2{.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_REQUIREMENTS_INFO_2, .image = image});
}

}  // namespace

ArenaOwner::ArenaOwner(MemoryArena& arena, ArenaResource resource) noexcept
    : arena_(&arena), resource_(std::move(resource)) {
  ++arena.live_;
}

ArenaOwner::ArenaOwner(ArenaOwner&& other) noexcept
    : arena_(std::exchange(other.arena_, nullptr)), resource_(std::move(other.resource_)) {}

ArenaOwner& ArenaOwner::operator=(ArenaOwner&& other) noexcept {
  if (this != &other) {
    release();
    arena_ = std::exchange(other.arena_, nullptr);
    resource_ = std::move(other.resource_);
  }
  return *this;
}

void ArenaOwner::release() noexcept {
  if (arena_ == nullptr) return;
  if (resource_.is_import) return destroy();
  --arena_->live_;
  std::exchange(arena_, nullptr)->bury(std::exchange(resource_, {}));
}

void ArenaOwner::destroy() noexcept {
  if (arena_ == nullptr) return;
  --std::exchange(arena_, nullptr)->live_;
  resource_ = {};
}

void Buffer::destroy() noexcept {
  owner_.destroy();
  *this = Buffer();
}

BufferView Buffer::view(std::uint64_t offset, std::uint64_t bytes) const {
  GARUDA_EXPECTS(offset <= bytes_ && bytes <= bytes_ - offset);
  return {handle(), view_offset_ + offset, bytes};
}

VkMappedMemoryRange Buffer::mapped_range(std::uint64_t offset, std::uint64_t bytes) const {
  GARUDA_EXPECTS(mapped_ != nullptr && offset <= bytes_ && bytes <= bytes_ - offset);
  // The range grows to whole atoms; the arena keeps neighbours out of them.
  std::uint64_t const begin = align_down(memory_offset_ + offset, atom_bytes_);
  std::uint64_t const end = align_up(memory_offset_ + offset + bytes, atom_bytes_);
  return {.sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE,
          .memory = memory_,
          .offset = begin,
          .size = end >= memory_bytes_ ? VK_WHOLE_SIZE : end - begin};
}

Result<void> Buffer::flush(std::uint64_t offset, std::uint64_t bytes) const {
  if (atom_bytes_ == 0) return {};
  VkMappedMemoryRange const range = mapped_range(offset, bytes);
  return check(device_.fn->vkFlushMappedMemoryRanges(device_.device, 1, &range), "vkFlushMappedMemoryRanges");
}

Result<void> Buffer::invalidate(std::uint64_t offset, std::uint64_t bytes) const {
  if (atom_bytes_ == 0) return {};
  VkMappedMemoryRange const range = mapped_range(offset, bytes);
  return check(device_.fn->vkInvalidateMappedMemoryRanges(device_.device, 1, &range), "vkInvalidateMappedMemoryRanges");
}

MemoryArena::MemoryArena(Device& device, std::uint64_t block_bytes)
    : device_(device), block_bytes_(std::min(block_bytes, device.traits().limits.max_memory_allocation_size)) {
  GARUDA_EXPECTS(block_bytes > 0);
}

MemoryArena::~MemoryArena() = default;

void MemoryArena::make_grave() {
  std::size_t const graves = buried_.size() + live_ + 1;
  if (buried_.capacity() < graves) buried_.reserve(2 * graves);
}

void MemoryArena::bury(ArenaResource resource) noexcept { buried_.push_back(std::move(resource)); }

// ---- placement ----

std::optional<MemoryArena::Placement> MemoryArena::place_in(Block& block, VkMemoryRequirements const& requirements,
                                                            bool image) const {
  DeviceLimits const& limits = device_.traits().limits;
  MemoryType const& type = device_.traits().memory_types[block.memory.type()];
  // Non-coherent mapped memory is flushed in whole atoms, which must not reach into a neighbour.
  std::uint64_t const atom = type.host_visible && !type.host_coherent ? limits.non_coherent_atom_size : 1;
  std::uint64_t alignment = std::max(requirements.alignment, atom);
  if (block.offset > 0 && block.image_last != image) alignment = std::max(alignment, limits.buffer_image_granularity);
  std::uint64_t const offset = align_up(block.offset, alignment);
  std::uint64_t const bytes = align_up(requirements.size, atom);
  if (offset > block.memory.bytes() || bytes > block.memory.bytes() - offset) return std::nullopt;
  block.offset = offset + bytes;
  block.image_last = image;
  Placement placement;
  placement.block = &block.memory;
  placement.offset = offset;
  return placement;
}

template <class TryType>
Result<MemoryArena::Placement> MemoryArena::first_with_room(std::uint64_t bytes, std::span<std::uint32_t const> types,
                                                            TryType const& try_type) {
  auto placement = try_type(types.front());
  for (auto const type : types.subspan(1)) {
    if (placement || placement.error().code() != ErrorCode::out_of_memory) break;
    // A device without any room is reported in the words of its best memory.
    auto elsewhere = try_type(type);
    if (!elsewhere) continue;
    bytes_elsewhere_ += bytes;
    return elsewhere;
  }
  return placement;
}

Result<MemoryArena::Placement> MemoryArena::place(VkMemoryRequirements const& requirements,
                                                  std::span<std::uint32_t const> types, bool image) {
  return first_with_room(requirements.size, types,
                         [&](std::uint32_t type) { return place(requirements, type, image); });
}

Result<MemoryArena::Placement> MemoryArena::place_alone(BlockRequest request, std::span<std::uint32_t const> types) {
  return first_with_room(request.bytes, types, [&](std::uint32_t type) -> Result<Placement> {
    request.type = type;
    Placement placement;
    GARUDA_TRY_ASSIGN(placement.own_memory, device_.memory().allocate(request));
    return placement;
  });
}

Result<MemoryArena::Placement> MemoryArena::place(VkMemoryRequirements const& requirements, std::uint32_t type,
                                                  bool image) {
  for (Block& block : blocks_) {
    if (block.memory.type() != type) continue;
    if (auto placement = place_in(block, requirements, image)) return std::move(*placement);
  }
  GARUDA_TRY(grow(align_up(requirements.size, device_.traits().limits.non_coherent_atom_size), type));
  auto placement = place_in(blocks_.back(), requirements, image);
  GARUDA_EXPECTS(placement.has_value());
  return std::move(*placement);
}

std::uint64_t MemoryArena::ordinary_bytes(std::uint32_t type) const {
  std::uint64_t held = device_.traits().memory_types[type].device_local ? kFirstDeviceBlockBytes : kFirstHostBlockBytes;
  for (Block const& block : blocks_)
    if (block.memory.type() == type) held += block.memory.bytes();
  return std::min(held, block_bytes_);
}

Result<void> MemoryArena::grow(std::uint64_t bytes, std::uint32_t type) {
  auto const ordinary = ordinary_bytes(type);
  auto block = device_.memory().allocate({.bytes = bytes > ordinary / 2 ? bytes : ordinary, .type = type});
  if (!block) {
    trim();
    block = device_.memory().allocate({.bytes = bytes, .type = type});
  }
  if (!block) return propagate(std::move(block));
  blocks_.push_back({.id = next_block_id_++, .memory = std::move(*block)});
  return {};
}

Result<std::vector<std::uint32_t>> MemoryArena::types_for(std::uint32_t allowed_types, MemoryUse use) const {
  MemoryPool const& pool = device_.memory();
  constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  constexpr VkMemoryPropertyFlags kVisible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
  constexpr VkMemoryPropertyFlags kCoherent = VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  constexpr VkMemoryPropertyFlags kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  bool const is_shared = device_.traits().shares_memory();
  std::vector<std::uint32_t> types;
  auto const add = [&](VkMemoryPropertyFlags required, VkMemoryPropertyFlags preferred) {
    for (auto const type : pool.find_types(allowed_types, required, preferred))
      if (std::ranges::find(types, type) == types.end()) types.push_back(type);
  };
  switch (use) {
    case MemoryUse::device:
      add(kLocal, device_.traits().unified_memory ? kVisible | kCoherent | kCached : 0);
      // A driver may bar a resource from its device-local types.
      if (types.empty() || is_shared) add(0, kLocal);
      break;
    case MemoryUse::upload:
      add(kVisible, kCoherent);
      break;
    case MemoryUse::download:
      add(kVisible, kCoherent | kCached);
      break;
    case MemoryUse::device_mapped:
      add(kLocal | kVisible, kCoherent);
      if (is_shared) add(kVisible, kCoherent);
      break;
  }
  if (types.empty()) {
    return fail(ErrorCode::out_of_memory,
                fmt::format("{} has no memory type for this use: {}", device_.traits().name, static_cast<int>(use)));
  }
  return types;
}

// ---- buffers ----

Result<Unique<VkBuffer>> MemoryArena::create_buffer(std::uint64_t bytes, VkBufferUsageFlags extra_usage, bool imported,
                                                    char const* name) const {
  std::uint64_t const limit = device_.traits().limits.max_buffer_size;
  if (bytes > limit) {
    return fail(ErrorCode::limit_exceeded,
                fmt::format("buffer \"{}\" larger than the device's largest, {} bytes: {}", name, limit, bytes));
  }
  VkExternalMemoryBufferCreateInfo const external{
      .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
      .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT};
  std::span<std::uint32_t const> const families = device_.buffer_families();
  VkBufferCreateInfo const info{
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
      .pNext = imported ? &external : nullptr,
      .size = bytes,
      .usage = buffer_usage(device_.traits(), extra_usage),
      .sharingMode = families.size() > 1 ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE,
      .queueFamilyIndexCount = static_cast<std::uint32_t>(families.size()),
      .pQueueFamilyIndices = families.data()};
  GARUDA_TRY_ASSIGN(auto buffer,
                    make_object(device_.owner(), &VolkDeviceTable::vkCreateBuffer, info, "vkCreateBuffer"));
  device_.set_name(buffer.get(), VK_OBJECT_TYPE_BUFFER, name);
  return buffer;
}

Result<MemoryArena::Placement> MemoryArena::place_buffer(VkBuffer buffer, MemoryUse use) {
  Requirements const requirements = requirements_of(device_, buffer);
  GARUDA_TRY_ASSIGN(auto const types, types_for(requirements.memory.memoryTypeBits, use));
  if (!requirements.dedicated) return place(requirements.memory, types, false);
  return place_alone({.bytes = requirements.memory.size, .dedicated_buffer = buffer}, types);
}

Result<Buffer> MemoryArena::bind(Unique<VkBuffer> handle, Placement placement, std::uint64_t bytes) {
  make_grave();
  ArenaResource resource;
  resource.is_import = placement.is_import;
  resource.own_memory = std::move(placement.own_memory);
  resource.buffer = std::move(handle);
  Buffer buffer;
  buffer.owner_ = ArenaOwner(*this, std::move(resource));
  MemoryBlock const& block = placement.block != nullptr ? *placement.block : buffer.owner_->own_memory;
  MemoryType const& type = device_.traits().memory_types[block.type()];
  buffer.device_ = device_.owner();
  buffer.memory_ = block.handle();
  buffer.memory_offset_ = placement.offset;
  buffer.memory_bytes_ = block.bytes();
  buffer.atom_bytes_ = type.host_visible && !type.host_coherent ? device_.traits().limits.non_coherent_atom_size : 0;
  buffer.bytes_ = bytes;
  buffer.mapped_ = block.mapped() != nullptr ? block.mapped() + placement.offset : nullptr;
  buffer.host_cached_ = buffer.mapped_ != nullptr && type.host_cached;
  GARUDA_TRY(check(device_.fn().vkBindBufferMemory(device_.handle(), buffer.handle(), block.handle(), placement.offset),
                   "vkBindBufferMemory"));
  if (device_.traits().features.buffer_device_address) {
    VkBufferDeviceAddressInfo const info{.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                         .buffer = buffer.handle()};
    buffer.address_ = device_.fn().vkGetBufferDeviceAddress(device_.handle(), &info);
  }
  return buffer;
}

Result<Buffer> MemoryArena::buffer(BufferSpec const& spec) {
  GARUDA_EXPECTS(spec.bytes > 0);
  GARUDA_TRY(device_.memory().count_request(spec.name));
  GARUDA_TRY_ASSIGN(Unique<VkBuffer> handle,
                    create_buffer(align_up(spec.bytes, kBufferGranule), spec.extra_usage, false, spec.name));
  GARUDA_TRY_ASSIGN(Placement placement, place_buffer(handle.get(), spec.use));
  return bind(std::move(handle), std::move(placement), spec.bytes);
}

Result<std::uint32_t> MemoryArena::import_type(std::span<std::byte> memory, VkBuffer buffer) const {
  VkMemoryHostPointerPropertiesEXT properties{.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
  GARUDA_TRY(
      check(device_.fn().vkGetMemoryHostPointerPropertiesEXT(
                device_.handle(), VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT, memory.data(), &properties),
            "vkGetMemoryHostPointerPropertiesEXT"));
  std::uint32_t const allowed = properties.memoryTypeBits & requirements_of(device_, buffer).memory.memoryTypeBits;
  auto const type = device_.memory().find_type(allowed, 0, VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
  if (!type) {
    return fail(ErrorCode::out_of_memory,
                fmt::format("host memory cannot be imported as a buffer, bytes: {}", memory.size()));
  }
  return *type;
}

Result<Buffer> MemoryArena::import_host(std::span<std::byte> memory, VkBufferUsageFlags extra_usage, char const* name) {
  DeviceTraits const& traits = device_.traits();
  if (!traits.features.external_memory_host) {
    return fail(ErrorCode::no_device, fmt::format("{} cannot import host memory", traits.name));
  }
  GARUDA_EXPECTS(!memory.empty());
  std::uint64_t const alignment = traits.limits.min_imported_host_pointer_alignment;
  std::uint64_t const before = reinterpret_cast<std::uintptr_t>(memory.data()) % alignment;
  std::span<std::byte> const units{memory.data() - before, align_up(before + memory.size(), alignment)};
  GARUDA_TRY(device_.memory().count_request(name));
  GARUDA_TRY_ASSIGN(Unique<VkBuffer> handle, create_buffer(units.size(), extra_usage, true, name));
  GARUDA_TRY_ASSIGN(std::uint32_t const type, import_type(units, handle.get()));
  Placement placement;
  placement.is_import = true;
  GARUDA_TRY_ASSIGN(
      placement.own_memory,
      device_.memory().allocate({.bytes = units.size(), .type = type, .imported_host_pointer = units.data()}));
  GARUDA_TRY_ASSIGN(Buffer buffer, bind(std::move(handle), std::move(placement), memory.size()));
  buffer.view_offset_ = before;
  if (buffer.address_ != 0) buffer.address_ += before;
  buffer.mapped_ = memory.data();
  buffer.host_cached_ = true;
  // The importer's own mapping is coherent with the device; there is nothing for vkFlushMappedMemoryRanges to act on.
  buffer.atom_bytes_ = 0;
  return buffer;
}

// ---- images ----

Result<Unique<VkImage>> MemoryArena::create_image(ImageSpec const& spec) const {
  VkImageCreateInfo const info{.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                               .imageType = VK_IMAGE_TYPE_2D,
                               .format = spec.format,
                               .extent = {spec.width, spec.height, 1},
                               .mipLevels = 1,
                               .arrayLayers = spec.layers,
                               .samples = VK_SAMPLE_COUNT_1_BIT,
                               .tiling = VK_IMAGE_TILING_OPTIMAL,
                               .usage = spec.usage | VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT,
                               .sharingMode = VK_SHARING_MODE_EXCLUSIVE,
                               .initialLayout = VK_IMAGE_LAYOUT_UNDEFINED};
  GARUDA_TRY_ASSIGN(auto image, make_object(device_.owner(), &VolkDeviceTable::vkCreateImage, info, "vkCreateImage"));
  device_.set_name(image.get(), VK_OBJECT_TYPE_IMAGE, spec.name);
  return image;
}

Result<MemoryArena::Placement> MemoryArena::place_image(VkImage image) {
  Requirements const requirements = requirements_of(device_, image);
  GARUDA_TRY_ASSIGN(auto const types, types_for(requirements.memory.memoryTypeBits, MemoryUse::device));
  if (!requirements.dedicated) return place(requirements.memory, types, true);
  return place_alone({.bytes = requirements.memory.size, .dedicated_image = image}, types);
}

Result<Unique<VkImageView>> MemoryArena::create_view(VkImage image, ImageSpec const& spec, VkImageViewType type,
                                                     std::uint32_t first_layer, std::uint32_t layers) const {
  VkImageViewCreateInfo const info{.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                   .image = image,
                                   .viewType = type,
                                   .format = spec.format,
                                   .subresourceRange = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT,
                                                        .baseMipLevel = 0,
                                                        .levelCount = 1,
                                                        .baseArrayLayer = first_layer,
                                                        .layerCount = layers}};
  return make_object(device_.owner(), &VolkDeviceTable::vkCreateImageView, info, "vkCreateImageView");
}

Result<Image> MemoryArena::image(ImageSpec const& spec) {
  GARUDA_EXPECTS(spec.width > 0 && spec.height > 0 && spec.layers > 0);
  GARUDA_TRY(check_extent(device_.traits(), spec));
  GARUDA_TRY(device_.memory().count_request(spec.name));
  make_grave();
  ArenaResource resource;
  GARUDA_TRY_ASSIGN(resource.image, create_image(spec));
  VkImage const handle = resource.image.get();
  GARUDA_TRY_ASSIGN(Placement placement, place_image(handle));
  resource.own_memory = std::move(placement.own_memory);
  MemoryBlock const& block = placement.block != nullptr ? *placement.block : resource.own_memory;
  GARUDA_TRY(check(device_.fn().vkBindImageMemory(device_.handle(), handle, block.handle(), placement.offset),
                   "vkBindImageMemory"));
  GARUDA_TRY_ASSIGN(resource.array_view, create_view(handle, spec, VK_IMAGE_VIEW_TYPE_2D_ARRAY, 0, spec.layers));
  for (std::uint32_t layer = 0; layer < spec.layers; ++layer) {
    GARUDA_TRY_ASSIGN(Unique<VkImageView> view, create_view(handle, spec, VK_IMAGE_VIEW_TYPE_2D, layer, 1));
    resource.layer_views.push_back(std::move(view));
  }
  Image image;
  image.memory_bytes_ = requirements_of(device_, handle).memory.size;
  image.owner_ = ArenaOwner(*this, std::move(resource));
  image.format_ = spec.format;
  image.extent_ = {spec.width, spec.height};
  image.layers_ = spec.layers;
  return image;
}

// ---- rewinding ----

ArenaMark MemoryArena::mark() const {
  ArenaMark mark{.live = live_, .buried = buried_.size(), .positions = {}};
  for (Block const& block : blocks_) mark.positions.push_back({block.id, block.offset, block.image_last});
  return mark;
}

void MemoryArena::rewind(ArenaMark const& mark) {
  GARUDA_EXPECTS(live_ <= mark.live);
  buried_.erase(buried_.begin() + static_cast<std::ptrdiff_t>(std::min(mark.buried, buried_.size())), buried_.end());
  for (Block& block : blocks_) {
    auto const position = std::ranges::find(mark.positions, block.id, &ArenaMark::Position::block);
    bool const known = position != mark.positions.end();
    block.offset = known ? position->offset : 0;
    block.image_last = known && position->image_last;
  }
}

void MemoryArena::reset() { rewind(ArenaMark{}); }

void MemoryArena::trim() {
  std::erase_if(blocks_, [](Block const& block) { return block.offset == 0; });
}

std::uint64_t MemoryArena::reserved_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (Block const& block : blocks_) bytes += block.memory.bytes();
  return bytes;
}

std::uint64_t MemoryArena::used_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (Block const& block : blocks_) bytes += block.offset;
  return bytes;
}

}  // namespace garuda::vk
