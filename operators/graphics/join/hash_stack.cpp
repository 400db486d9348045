#include "operators/graphics/join/hash_stack.hpp"

#include <algorithm>
#include <array>

namespace garuda::graphics {

Result<HashStack> HashStack::create(KernelContext& context, SliceSide const& build, std::uint32_t num_images,
                                    std::uint64_t reserve_bytes) {
  HashStack stack;
  stack.build_ = &build;
  stack.num_images_ = num_images;
  GARUDA_TRY_ASSIGN(stack.flags_,
                    context.zeroed_buffer(std::uint64_t{build.rows()} * 4, "FlagArray", vulkan::phase::kBuild));
  auto const left = context.bytes_left();
  auto const budget = left > reserve_bytes ? left - reserve_bytes : 0;
  auto const& image = build.address()->image;
  auto const format = context.key_words() == 2 ? VK_FORMAT_R32G32B32A32_UINT : VK_FORMAT_R32G32_UINT;
  std::uint64_t layers = layers_per_slice(image, context.key_bits(), num_images, budget, context.limits());
  GARUDA_TRY_ASSIGN(stack.images_, context.halved_until_it_fits(layers, 1, [&](std::uint64_t n) {
    return context.image(format, image, static_cast<std::uint32_t>(n), "hash images");
  }));
  stack.layers_ = static_cast<std::uint32_t>(layers);
  return stack;
}

std::uint32_t HashStack::layers_of(std::uint32_t slice) const noexcept {
  return std::min(layers_, num_images_ - slice * layers_);
}

Result<void> HashStack::load(KernelContext& context, std::uint32_t slice) {
  GARUDA_EXPECTS(slice < num_slices());
  if (loaded_ == slice) return {};
  loaded_.reset();
  for (; grown_slices_ <= slice; ++grown_slices_) GARUDA_TRY(grow(context, grown_slices_));
  if (grown_slices_ != slice + 1 || loaded_ != slice) GARUDA_TRY(redraw(context, slice));
  loaded_ = slice;
  return {};
}

Result<void> HashStack::grow(KernelContext& context, std::uint32_t slice) {
  for (std::uint32_t layer = 0; layer < layers_of(slice); ++layer) {
    GARUDA_TRY(draw_image(context, layer, 0));
    // The last image of a stack of one slice has no later pass that looks at its rows' flags.
    auto const image = slice * layers_ + layer;
    if (num_slices() > 1 || image + 1 < num_images_) GARUDA_TRY(mark_winners(context, layer, image + 1));
  }
  loaded_ = slice;
  return {};
}

Result<void> HashStack::redraw(KernelContext& context, std::uint32_t slice) {
  for (std::uint32_t layer = 0; layer < layers_of(slice); ++layer) {
    GARUDA_TRY(draw_image(context, layer, slice * layers_ + layer + 1));
  }
  return {};
}

Result<void> HashStack::draw_image(KernelContext& context, std::uint32_t layer, std::uint32_t flag) {
  auto const& [direct, address, image] = *build_->address();
  shaders::BuildPush const push{address, image.raster(), build_->rows(), flag};
  std::array const resources{vk::BoundResource::of(shaders::kBindKeys, build_->keys()),
                             vk::BoundResource::of(shaders::kBindFlags, flags_)};
  vulkan::PointPass pass;
  pass.phase = vulkan::phase::kBuild;
  pass.label = "build H_i";
  GARUDA_TRY_ASSIGN(pass.pipeline, context.pipelines().get(JoinPass::build, direct));
  pass.resources = resources;
  pass.push = vulkan::push_bytes(push);
  pass.target = &images_;
  pass.layer = layer;
  pass.area = {image.width(), image.height};
  pass.clear = vk::clear_uint(0);
  pass.vertices = build_->rows();
  // A slice that was here before has been read by count, probe and mark passes.
  pass.last_use = vk::use::kVertexSampled | vk::use::kComputeSampled;
  pass.next_use = vk::use::kVertexSampled | vk::use::kComputeSampled;
  return context.submissions().draw(pass);
}

Result<void> HashStack::mark_winners(KernelContext& context, std::uint32_t layer, std::uint32_t flag) {
  auto const& image = build_->address()->image;
  shaders::MarkWinnersPush const push{image.log2_width, static_cast<std::uint32_t>(image.pixels()), flag};
  std::array const resources{vk::BoundResource::of(shaders::kBindFlags, flags_),
                             vk::BoundResource::of(shaders::kBindLayers, images_.layer_view(layer))};
  // Flags that the image's vertices read, before they change.
  GARUDA_TRY(context.order(vulkan::phase::kBuild, vk::use::kVertexRead, vk::use::kComputeWrite));
  GARUDA_TRY(context.dispatch(vulkan::phase::kBuild, "FlagArray", JoinPass::mark_winners, false, resources,
                              vulkan::push_bytes(push), image.pixels()));
  // Flags, before the vertices of the next image read them.
  return context.order(vulkan::phase::kBuild, vk::use::kComputeWrite, vk::use::kVertexRead);
}

}  // namespace garuda::graphics
