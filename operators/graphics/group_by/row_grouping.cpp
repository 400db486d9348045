#include "operators/graphics/group_by/row_grouping.hpp"

#include <fmt/format.h>

#include <bit>
#include <variant>

#include "shaders/shared/hash.h"

namespace garuda::graphics {
namespace {

constexpr std::uint64_t kLeastPixels = 4;

}  // namespace

Result<std::unique_ptr<RowGrouping>> RowGrouping::start(GroupContext& context, contract::GroupSlice const& slice) {
  auto grouping = std::make_unique<RowGrouping>();
  grouping->num_rows_ = static_cast<std::uint32_t>(slice.num_rows);
  if (auto const* packed = std::get_if<contract::KeySpan>(&slice.keys)) {
    GARUDA_TRY(grouping->start_packed(context, *packed, slice));
  } else {
    GARUDA_TRY(grouping->start_words(context, std::get<contract::KeyWords>(slice.keys)));
  }
  GARUDA_TRY(grouping->take_memory(context));
  return grouping;
}

Result<void> RowGrouping::start_packed(GroupContext& context, contract::KeySpan const& keys,
                                       contract::GroupSlice const& slice) {
  auto const source = std::visit([](auto const& words) { return std::as_bytes(words); }, keys.words);
  auto const asked = context.tuning().address;
  auto const address =
      choose_address({keys.size(), keys.min, keys.max, slice.shared_low_bits}, asked, context.limits().images);
  if (!address) {
    return fail(ErrorCode::usage,
                fmt::format("address=direct was asked for, but the keys of a slice span more than the "
                            "{} pixels of the largest image",
                            most_direct_pixels(context.limits().images)));
  }
  address_ = *address;
  kind_.key_words = std::holds_alternative<std::span<std::uint64_t const>>(keys.words) ? 2 : 1;
  kind_.direct = address_.direct;
  format_ = address_.direct        ? VK_FORMAT_R32_UINT
            : kind_.key_words == 2 ? VK_FORMAT_R32G32B32A32_UINT
                                   : VK_FORMAT_R32G32_UINT;
  texel_bytes_ = address_.direct ? 4 : 8 * kind_.key_words;
  GARUDA_TRY_ASSIGN(keys_, context.input(source, "keys"));
  return {};
}

Result<void> RowGrouping::start_words(GroupContext& context, contract::KeyWords const& keys) {
  GARUDA_EXPECTS(!keys.words.empty() && keys.hash_first + keys.hash_count <= keys.words.size());
  if (context.tuning().address == Address::direct) {
    return fail(ErrorCode::usage, "address=direct was asked for, but the keys have several words");
  }
  num_words_ = static_cast<std::uint32_t>(keys.words.size());
  hash_first_ = keys.hash_first;
  hash_count_ = keys.hash_count;
  GARUDA_TRY_ASSIGN(auto const form, choose_key_form(num_words_, context.tuning().keys, context.limits()));
  bool const in_pixels = form == KeyForm::words;
  hash_pass_ = in_pixels ? GroupPass::hash_words : GroupPass::hash_rowid;
  map_pass_ = in_pixels ? GroupPass::map_words : GroupPass::map_rowid;
  attachments_ = in_pixels ? key_attachments(num_words_) : 1;
  kind_.attachments = attachments_;
  format_ = in_pixels ? VK_FORMAT_R32G32B32A32_UINT : VK_FORMAT_R32_UINT;
  texel_bytes_ = in_pixels ? 16 * attachments_ : 4;
  auto const word_bytes = std::uint64_t{num_rows_} * 4;
  GARUDA_TRY_ASSIGN(keys_, context.upload_buffer(word_bytes * num_words_, "key words"));
  for (std::size_t word = 0; word < keys.words.size(); ++word) {
    GARUDA_EXPECTS(keys.words[word].size() == num_rows_);
    GARUDA_TRY(context.upload(keys_, word * word_bytes, std::as_bytes(keys.words[word])));
  }
  return {};
}

Result<void> RowGrouping::take_memory(GroupContext& context) {
  auto const bytes = std::uint64_t{num_rows_} * 4;
  GARUDA_TRY_ASSIGN(map_, context.buffer(bytes, "Map"));
  GARUDA_TRY_ASSIGN(heads_, context.zeroed_buffer(bytes, "Head", vulkan::phase::kHash));
  GARUDA_TRY_ASSIGN(lost_, context.buffer(bytes, "rows that lost"));
  GARUDA_TRY_ASSIGN(sum_, PrefixSum::create(context, num_rows_, "prefix sum"));
  // What the lists of losers may take is left free.
  auto const left = context.bytes_left();
  image_bytes_ = left > 2 * bytes ? (left - 2 * bytes) / 8 * 7 : 0;
  if (!kind_.direct) {
    auto const rows = first_image_rows(num_rows_, context.limits());
    // More groups than expected take a second, larger image, once: what is left is divided between the two.
    auto const first_bytes = rows < num_rows_ ? image_bytes_ / 3 : image_bytes_;
    if (rows < num_rows_) image_bytes_ -= first_bytes;
    address_.image = group_image(rows, texel_bytes_, first_bytes, context.limits());
  }
  // An address that is the key has a pixel a key, and is left to smaller slices.
  auto pixels = address_.image.pixels();
  GARUDA_TRY_ASSIGN(image_,
                    context.halved_until_it_fits(pixels, kind_.direct ? pixels : kLeastPixels, [&](std::uint64_t n) {
                      if (!kind_.direct)
                        address_.image = group_image(num_rows_, texel_bytes_, n * texel_bytes_, context.limits());
                      return context.image(format_, address_.image, attachments_, "hash image");
                    }));
  context.submissions().max_counter("image_pixels", address_.image.pixels());
  context.submissions().add_counter(kind_.direct ? "direct_slices" : "hash_slices", 1);
  return {};
}

shaders::HashPush RowGrouping::push_of(std::uint32_t count, vulkan::ImageShape const& shape) const {
  shaders::HashPush push{};
  push.image = shape.raster();
  push.count = count;
  push.num_rows = num_rows_;
  push.num_words = num_words_;
  if (kind_.direct) {
    push.address = address_.address;
    return push;
  }
  auto const pixels = static_cast<std::uint32_t>(shape.pixels());
  push.address = {0, 0, 33 - static_cast<std::uint32_t>(std::bit_width(pixels)), pixels};
  push.seed = is_first() ? 0 : shaders::mix32(iteration_);
  push.hash_first = is_first() ? hash_first_ : 0;
  push.hash_count = is_first() ? hash_count_ : num_words_;
  return push;
}

GroupPassKind RowGrouping::pass_kind() const {
  auto kind = kind_;
  kind.listed = iteration_ > 0;
  return kind;
}

vk::BoundResource RowGrouping::rows() const {
  // A first pass over all rows reads no list.
  if (passing_ != nullptr && is_first()) return vk::BoundResource::of(shaders::kBindRows, *passing_);
  return vk::BoundResource::of(shaders::kBindRows, iteration_ == 0 ? map_ : lists_.at((iteration_ - 1) % 2));
}

Result<void> RowGrouping::run(GroupContext& context, vulkan::DeviceGroups& groups) {
  auto largest = address_.image;
  if (groups.is_listed) GARUDA_TRY(begin_with(context, groups.rows));
  for (auto count = groups.num_drawn; count > 0; ++iteration_) {
    auto shape =
        kind_.direct || is_first() ? address_.image : group_image(count, texel_bytes_, image_bytes_, context.limits());
    if (shape.pixels() > largest.pixels()) {
      // Rows left only become fewer, so this image has room for all that follow.
      auto larger = context.image(format_, shape, attachments_, "larger hash image");
      if (larger) {
        image_ = std::move(*larger);
        largest = shape;
        context.submissions().max_counter("image_pixels", shape.pixels());
      } else {
        // The heaps hold less than they say: more passes over the image that there is.
        if (larger.error().code() != ErrorCode::out_of_memory) return propagate(std::move(larger));
        context.submissions().add_counter("images_halved", 1);
        shape = largest;
        image_bytes_ = shape.pixels() * texel_bytes_;
      }
    }
    auto const push = push_of(count, shape);
    GARUDA_TRY(draw_image(context, push, shape));
    GARUDA_TRY(map_rows(context, push));
    if (kind_.direct) break;
    GARUDA_TRY_ASSIGN(count, list_losers(context, count));
  }
  return number_groups(context, groups);
}

Result<void> RowGrouping::draw_image(GroupContext& context, shaders::HashPush const& push,
                                     vulkan::ImageShape const& shape) {
  bool const packed = hash_pass_ == GroupPass::hash_packed;
  std::array const resources{vk::BoundResource::of(packed ? shaders::kBindKeys : shaders::kBindWords, keys_), rows()};
  vulkan::PointPass pass;
  pass.phase = vulkan::phase::kHash;
  pass.label = "hash image H_i";
  GARUDA_TRY_ASSIGN(pass.pipeline, context.pipeline(hash_pass_, pass_kind()));
  pass.resources = resources;
  pass.push = vulkan::push_bytes(push);
  pass.target = &image_;
  pass.attachments = attachments_;
  pass.area = {shape.width(), shape.height};
  pass.clear = vk::clear_uint(0);
  pass.vertices = push.count;
  pass.last_use = vk::use::kComputeSampled;
  pass.next_use = vk::use::kComputeSampled;
  context.submissions().add_counter("hash_images", 1);
  return context.draw(pass);
}

Result<void> RowGrouping::map_rows(GroupContext& context, shaders::HashPush const& push) {
  bool const packed = map_pass_ == GroupPass::map_packed;
  std::array const resources{vk::BoundResource::of(packed ? shaders::kBindKeys : shaders::kBindWords, keys_),
                             rows(),
                             vk::BoundResource::of(shaders::kBindHashImage, image_.array_view()),
                             vk::BoundResource::of(shaders::kBindMap, map_),
                             vk::BoundResource::of(shaders::kBindHead, heads_),
                             vk::BoundResource::of(shaders::kBindLost, lost_)};
  // Losers that the compaction of the last image read, before they are replaced.
  GARUDA_TRY(context.order(vulkan::phase::kMap, vk::use::kVertexRead | vk::use::kComputeWrite, vk::use::kComputeWrite));
  return context.dispatch(vulkan::phase::kMap, "Map and Head", map_pass_, pass_kind(), resources,
                          vulkan::push_bytes(push), push.count);
}

// Rows that pass are those that are left for the first image, as losers are for the next ones.
Result<void> RowGrouping::begin_with(GroupContext& context, vk::Buffer const& passing) {
  passing_ = &passing;
  first_iteration_ = ++iteration_;
  GARUDA_TRY_ASSIGN(auto* const recorder, context.submissions().record(vulkan::phase::kMap));
  recorder->fill(map_.view(), shaders::kClippedRow);
  recorder->barrier(map_, vk::use::kTransferWrite, vk::use::kComputeWrite);
  return {};
}

Result<std::uint32_t> RowGrouping::list_losers(GroupContext& context, std::uint32_t count) {
  sum_.resize(count);
  GARUDA_TRY(context.prefix_sum(sum_, vulkan::phase::kMap, lost_));
  GARUDA_TRY_ASSIGN(auto const total, sum_.total(context, vulkan::phase::kMap));
  auto const losers = static_cast<std::uint32_t>(total);
  if (losers == 0) return losers;
  auto& list = lists_.at(iteration_ % 2);
  if (!list) {
    GARUDA_TRY_ASSIGN(list, context.buffer(std::uint64_t{losers} * 4, "rows left"));
  }
  shaders::RowsPush const push{count};
  std::array const resources{rows(), vk::BoundResource::of(shaders::kBindLost, lost_),
                             vk::BoundResource::of(shaders::kBindOffsets, sum_.offsets()),
                             vk::BoundResource::of(shaders::kBindTileBases, sum_.tile_bases()),
                             vk::BoundResource::of(shaders::kBindRowsOut, list)};
  GARUDA_TRY(context.dispatch(vulkan::phase::kMap, "rows left", GroupPass::compact_rows, pass_kind(), resources,
                              vulkan::push_bytes(push), count));
  // The list, before vertices of the next image and its map pass read it.
  GARUDA_TRY(context.order(vulkan::phase::kMap, vk::use::kComputeWrite, vk::use::kVertexRead | vk::use::kComputeWrite));
  return losers;
}

Result<void> RowGrouping::number_groups(GroupContext& context, vulkan::DeviceGroups& groups) {
  sum_.resize(num_rows_);
  GARUDA_TRY(context.prefix_sum(sum_, vulkan::phase::kPrefix, heads_));
  shaders::RowsPush const push{num_rows_};
  std::array const resources{vk::BoundResource::of(shaders::kBindMap, map_),
                             vk::BoundResource::of(shaders::kBindOffsets, sum_.offsets()),
                             vk::BoundResource::of(shaders::kBindTileBases, sum_.tile_bases()),
                             vk::BoundResource::of(shaders::kBindIds, groups.ids),
                             vk::BoundResource::of(shaders::kBindHeadRows, groups.head_rows)};
  GARUDA_TRY(context.dispatch(vulkan::phase::kPrefix, "group ids", GroupPass::number_rows, {}, resources,
                              vulkan::push_bytes(push), num_rows_));
  // Ids, before the passes of the aggregates read them.
  GARUDA_TRY(
      context.order(vulkan::phase::kPrefix, vk::use::kComputeWrite, vk::use::kVertexRead | vk::use::kComputeWrite));
  GARUDA_TRY_ASSIGN(auto const total, sum_.total(context, vulkan::phase::kPrefix));
  groups.num_groups = static_cast<std::uint32_t>(total);
  return {};
}

}  // namespace garuda::graphics
