#include "operators/graphics/group_by/group_extremes.hpp"

#include <array>
#include <vector>

#include "operators/graphics/group_by/group_context.hpp"

namespace garuda::graphics {
namespace {

constexpr std::uint32_t num_pieces(contract::ValueKind kind) {
  return (32 * contract::value_words(kind) + shaders::kPieceBits - 1) / shaders::kPieceBits;
}

struct Extremes {
  GroupContext& context;
  vulkan::DeviceGroups const& groups;
  SliceColumn const& column;
  GroupTarget target;
  vk::Buffer pieces;
  std::uint32_t sides = 0;
};

Result<void> find_piece(Extremes& extremes, GroupRange range, std::uint32_t piece) {
  auto& context = extremes.context;
  auto const& groups = extremes.groups;
  shaders::ExtremesPush const push{extremes.target.push(groups, range), piece, extremes.sides};
  auto const pieces = vk::BoundResource::of(shaders::kBindPieces, extremes.pieces);
  auto resources = extremes.column.resources(groups);
  resources.push_back(pieces);
  auto const kind = extremes.column.pass_kind(groups);
  GARUDA_TRY_ASSIGN(auto const* pipeline, context.pipeline(GroupPass::extremes, kind));
  GARUDA_TRY(extremes.target.draw(context, vulkan::phase::kExtremes, "aggregate: extremes", *pipeline, resources,
                                  vulkan::push_bytes(push), groups, vk::clear_float(-1, -1, -1, -1)));
  std::array const folded{extremes.target.resource(), pieces};
  // Pieces that vertices read, before the fold adds to them.
  GARUDA_TRY(context.order(vulkan::phase::kFold, vk::use::kVertexRead, vk::use::kComputeWrite));
  GARUDA_TRY(context.dispatch(vulkan::phase::kFold, "fold extremes", GroupPass::fold_extremes, kind, folded,
                              vulkan::push_bytes(push), range.size));
  // The pieces of this draw, before the vertices of the next one read them.
  return context.order(vulkan::phase::kFold, vk::use::kComputeWrite, vk::use::kVertexRead | vk::use::kComputeWrite);
}

/// Puts the pieces of one extreme together: a piece + 1 each, from the top. Writes extreme_words(kind) words.
void assemble(std::uint32_t const* pieces, contract::ValueKind kind, bool complement, std::uint64_t* out) {
  std::array<std::uint64_t, 2> words{};
  auto const bits = static_cast<std::int32_t>(32 * contract::value_words(kind));
  for (std::uint32_t i = 0; i < num_pieces(kind); ++i) {
    auto const piece = std::uint64_t{pieces[i] - 1};
    auto const position = bits - static_cast<std::int32_t>(shaders::kPieceBits * (i + 1));
    if (position < 0) {
      words[0] |= (piece & 0xFFFFFF) >> -position;
      continue;
    }
    auto const word = static_cast<std::size_t>(position) / 64;
    auto const shift = static_cast<std::uint32_t>(position) % 64;
    words[word] |= (piece & 0xFFFFFF) << shift;
    if (shift > 64 - shaders::kPieceBits && word == 0) words[1] |= (piece & 0xFFFFFF) >> (64 - shift);
  }
  if (complement) words = {~words[0], ~words[1]};
  if (bits == 32) words[0] &= 0xFFFF'FFFF;
  for (std::uint32_t i = 0; i < contract::extreme_words(kind); ++i) out[i] = words[i];
}

Result<void> read_pieces(Extremes& extremes, GroupRange range, contract::AggregateState& state) {
  auto const kind = extremes.column.kind;
  auto const each = num_pieces(kind);
  std::vector<std::uint32_t> pieces(std::size_t{range.size} * 2 * each);
  GARUDA_TRY(extremes.context.download(extremes.pieces, std::as_writable_bytes(std::span(pieces))));
  for (std::size_t group = 0; group < range.size; ++group) {
    auto const out = (range.first + group) * contract::extreme_words(kind);
    if (!state.minima.empty()) assemble(&pieces[2 * group * each], kind, true, &state.minima[out]);
    if (!state.maxima.empty()) assemble(&pieces[(2 * group + 1) * each], kind, false, &state.maxima[out]);
  }
  return {};
}

}  // namespace

Result<void> find_extremes(GroupContext& context, vulkan::DeviceGroups const& groups, SliceColumn const& column,
                           contract::StateSet wanted, contract::AggregateState& state) {
  auto const words = std::size_t{groups.num_groups} * contract::extreme_words(column.kind);
  if ((wanted & contract::kMinState) != 0) state.minima.resize(words);
  if ((wanted & contract::kMaxState) != 0) state.maxima.resize(words);
  auto const group_bytes = 8 * num_pieces(column.kind);
  GARUDA_TRY_ASSIGN(auto target, GroupTarget::create(context, groups, VK_FORMAT_R32G32_SFLOAT, 1, group_bytes));
  auto const at_once = std::min(target.groups_at_once(), groups.num_groups);
  GARUDA_TRY_ASSIGN(auto pieces, context.buffer(std::uint64_t{at_once} * group_bytes, "pieces"));
  auto const sides = ((wanted & contract::kMinState) != 0 ? shaders::kSideMin : 0) |
                     ((wanted & contract::kMaxState) != 0 ? shaders::kSideMax : 0);
  Extremes extremes{context, groups, column, std::move(target), std::move(pieces), sides};
  for (std::uint32_t first = 0; first < groups.num_groups; first += at_once) {
    auto const range = extremes.target.range(first, groups.num_groups);
    GARUDA_TRY_ASSIGN(auto* recorder, context.submissions().record(vulkan::phase::kExtremes));
    recorder->fill(extremes.pieces.view(), 0);
    recorder->barrier(extremes.pieces, vk::use::kTransferWrite, vk::use::kVertexRead | vk::use::kComputeWrite);
    for (std::uint32_t piece = 0; piece < num_pieces(column.kind); ++piece) {
      GARUDA_TRY(find_piece(extremes, range, piece));
    }
    GARUDA_TRY(context.order(vulkan::phase::kFold, vk::use::kComputeWrite, vk::use::kTransferRead));
    GARUDA_TRY(read_pieces(extremes, range, state));
  }
  return {};
}

}  // namespace garuda::graphics
