#include "operators/compute/strings/string_gather.hpp"

#include "operators/compute/strings/device_strings.hpp"

namespace garuda::compute {
namespace {

constexpr char const* kStringGatherPhase = "gather strings";
constexpr std::uint32_t kStringCopyItems = 4;

PassShape string_lengths_shape() {
  return {"compute/strings/string_lengths.comp", 0, 1, sizeof(shaders::StringLengthsPush), {}};
}
PassShape copy_strings_shape() {
  return {"compute/strings/copy_strings.comp", 0, kStringCopyItems, sizeof(shaders::CopyStringsPush), {}};
}

}  // namespace

Result<StringGather> StringGather::create(ComputeContext& context, std::uint64_t rows) {
  StringGather gather;
  GARUDA_TRY_ASSIGN(gather.scan_, DeviceScan::create(context, rows));
  GARUDA_TRY_ASSIGN(gather.lengths_, context.device_buffer(rows * sizeof(std::uint32_t), "lengths of strings"));
  GARUDA_TRY_ASSIGN(gather.sums_, context.device_buffer(rows * sizeof(std::uint32_t), "offsets of strings"));
  return gather;
}

Result<std::uint64_t> StringGather::measure(ComputeContext& context, DeviceStrings const& strings,
                                            StringRows const& rows, VkDeviceAddress offsets) {
  shaders::StringLengthsPush push{};
  push.strings = strings.view();
  push.numbers = rows.numbers;
  push.nulls = rows.nulls ? rows.nulls->words : 0;
  push.lengths = lengths_.address();
  push.null_mask = rows.nulls ? 1U << rows.nulls->bit : 0;
  push.num_rows = static_cast<std::uint32_t>(rows.rows);
  GARUDA_TRY(context.dispatch_each(kStringGatherPhase, string_lengths_shape(), push, rows.rows));
  GARUDA_TRY(scan_.record(context, kStringGatherPhase, {lengths_.address(), sums_.address(), rows.rows, offsets}));
  return scan_.read_total(context, kStringGatherPhase);
}

Result<void> StringGather::record_copy(ComputeContext& context, DeviceStrings const& strings, StringRows const& rows,
                                       VkDeviceAddress offsets, std::uint64_t bytes, VkDeviceAddress target) {
  GARUDA_EXPECTS(bytes > 0 && bytes >> 32U == 0);
  shaders::CopyStringsPush push{};
  push.strings = strings.view();
  push.numbers = rows.numbers;
  push.offsets = offsets;
  push.target = target;
  push.num_rows = static_cast<std::uint32_t>(rows.rows);
  push.num_bytes = static_cast<std::uint32_t>(bytes);
  auto const words = groups_for(bytes, sizeof(std::uint32_t));
  auto const tile = std::uint64_t{context.tuning().group_size} * kStringCopyItems;
  return context.dispatch(kStringGatherPhase, copy_strings_shape(), push, groups_for(words, tile), words);
}

std::vector<vk::ComputePipelineSpec> string_pipelines(ComputeTuning const& tuning) {
  auto specs = string_number_pipelines(tuning);
  specs.push_back(compute_pipeline(string_lengths_shape(), tuning));
  specs.push_back(compute_pipeline(copy_strings_shape(), tuning));
  return specs;
}

}  // namespace garuda::compute
