// Every pipeline of the graphics group-by, by pass.
#pragma once

#include <cstdint>
#include <vector>

#include "garuda/error.hpp"
#include "operators/contract/group_by_kernel.hpp"
#include "operators/graphics/join/join_pipelines.hpp"
#include "vk_runtime/pipelines.hpp"

namespace garuda::graphics {

/// A pass, named after its shader and, where it has variants, by what it reads.
enum class GroupPass : std::uint8_t {
  hash_packed,
  hash_words,
  hash_rowid,
  map_packed,
  map_words,
  map_rowid,
  scan_counts,
  scan_bases,
  compact_rows,
  number_rows,
  count,
  fold_counts,
  spans,
  fold_spans,
  allot_pixels,
  place_pixels,
  sum,
  fold_sums,
  extremes,
  fold_extremes,
};
inline constexpr std::size_t kGroupPasses = 20;

/// The constants that pipelines are specialised by. Passes ignore those that they do not read.
struct GroupPassKind {
  std::uint32_t key_words = 1;    ///< of packed keys: 1 or 2
  bool direct = false;            ///< direct addresses, else hash addresses
  bool listed = false;            ///< over a list of rows, else over all rows
  std::uint32_t attachments = 1;  ///< of the hash image with key words in it, 1…kMaxKeyAttachments
  contract::ValueKind values = contract::ValueKind::none;
  bool nulls = false;
};

/// Most colour attachments of a hash image: what devices commonly have, room for 31 key words.
inline constexpr std::uint32_t kMaxKeyAttachments = 8;

/// Description of a pass's pipeline.
PipelineSpec group_by_pipeline(GroupPass pass, GroupPassKind const& kind);

/// All pipelines that the graphics group-by can create, each once, on a device with so many colour attachments.
std::vector<PipelineSpec> graphics_group_by_pipelines(std::uint32_t max_attachments);

/// The pipeline from `store`, compiled at the first call. Errors: those of PipelineStore::compile.
Result<vk::Pipeline const*> get_pipeline(vk::PipelineStore& store, GroupPass pass, GroupPassKind const& kind);

}  // namespace garuda::graphics
