#include "operators/compute/condition_join/condition_join.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "expr/sides.hpp"
#include "operators/compute/condition_join/condition_program.hpp"
#include "operators/compute/primitives/compute_context.hpp"
#include "operators/contract/join_kind.hpp"
#include "operators/contract/sizing.hpp"
#include "operators/vulkan/pass_context.hpp"
#include "operators/vulkan/vulkan_devices.hpp"
#include "shaders/compute/conditions/conditions_layout.h"

namespace garuda::compute {
namespace {

/// Probe rows in the registers of an invocation, where comparisons are specialised and where a program runs.
constexpr std::uint32_t kProbeItems = 8;
constexpr std::uint64_t kQuadBytes = 16;
constexpr std::uint32_t kProgramItems = 1;
/// Listed probe rows of a subgroup that writes pairs.
constexpr std::uint32_t kListedItems = 4;
/// Build rows of a workgroup: several tiles of shared memory, so that reading its probe rows costs little.
constexpr std::uint64_t kChunkRows = std::uint64_t{1} << 13;
/// Pairs of rows that one dispatch compares, at most: the caller may cancel between them.
constexpr std::uint64_t kDispatchedPairs = std::uint64_t{1} << 33;
/// Comparisons that cost as much as an element of another pass.
constexpr std::uint64_t kPairsOfItem = 64;

PassShape count_shape(std::vector<vk::SpecConstant> constants, bool is_simple) {
  return {"compute/conditions/nested_count.comp", 0, is_simple ? kProbeItems : kProgramItems,
          sizeof(shaders::NestedCountPush), std::move(constants)};
}

PassShape pairs_shape(std::vector<vk::SpecConstant> constants) {
  return {"compute/conditions/nested_pairs.comp", 0, kListedItems, sizeof(shaders::NestedPairsPush),
          std::move(constants)};
}

/// Rows of one side that may match, and the columns of them on the device.
struct SideRows {
  std::uint64_t span_rows = 0;
  std::optional<std::vector<std::uint32_t>> chosen;  ///< nullopt: all
  std::uint64_t rows = 0;
  std::vector<SideWords> words;
  std::vector<std::vector<std::uint64_t>> taken;  ///< words of them, where they are no column's as it is
  std::vector<vk::Buffer> buffers;                ///< in the order of `words`; perhaps the memory above itself

  std::uint32_t row(std::uint32_t position) const noexcept { return chosen ? (*chosen)[position] : position; }
  VkDeviceAddress address(SideWords const& wanted) const {
    return buffers[static_cast<std::size_t>(std::ranges::find(words, wanted) - words.begin())].address();
  }
  std::vector<VkDeviceAddress> addresses(std::vector<SideWords> const& wanted) const {
    std::vector<VkDeviceAddress> all;
    for (auto const& one : wanted) all.push_back(address(one));
    return all;
  }
};

/// The condition of one join, which its kernels share.
struct JoinCondition {
  expr::PairCondition const& condition;
  expr::ConditionParts parts;
};

class Kernel final : public contract::JoinKernel {
 public:
  Kernel(JoinCondition const& join, vulkan::OwnLane const& own, vk::PipelineStore& pipelines,
         ComputeTuning const& tuning, contract::BackendOptions const& options, contract::ConditionSlice const& slice)
      : join_(join),
        slice_(slice),
        lane_(own.lane),
        submissions_(lane_, options.control, options.stats),
        context_(lane_, pipelines, submissions_, tuning, own.budget_bytes) {
    auto const smaller = slice.left.rows > slice.right.rows ? Side::right : Side::left;
    probe_side_ = other_side(contract::build_side(options.tuning.build, smaller));
  }

  Result<void> start();
  Result<std::uint64_t> count() override;
  Result<void> pairs(std::uint64_t first, std::span<contract::RowPair> out) override;
  Result<contract::MarkBitmap> mark(Side side) override;

 private:
  bool is_empty() const { return join_.parts.is_never || left_.rows == 0 || right_.rows == 0; }
  /// Whether all rows that may match do match.
  bool is_product() const { return join_.parts.cross.empty() && join_.parts.rest.empty(); }
  SideRows& rows_of(Side side) { return side == Side::left ? left_ : right_; }
  Result<void> upload(Side side, std::vector<SideWords> words);
  Result<void> upload_column(SideRows& rows, Side side, SideWords const& words);
  Result<shaders::NestedCondition> condition_of(ConditionProgram const& program, vk::Buffer& steps);
  Result<std::vector<std::uint32_t>> count_matches(Side probe);
  Result<void> count_rows();
  Result<void> load_window(std::uint64_t first);
  contract::RowPair product_pair(std::uint64_t position) const;

  JoinCondition const& join_;
  contract::ConditionSlice slice_;
  vk::Lane& lane_;
  vulkan::Submissions submissions_;
  ComputeContext context_;
  Side probe_side_ = Side::left;
  SideRows left_;
  SideRows right_;
  std::array<std::optional<std::vector<std::uint32_t>>, 2> counts_;  // of a side's rows, once known
  std::vector<std::uint64_t> firsts_;                                // of the probe rows' pairs, then all of them
  contract::PairWindow window_;
  std::array<std::vector<std::uint32_t>, 2> window_rows_;  // by side
  vulkan::DrainedLane const drained_{lane_};
};

/// Uploads what the condition reads of both sides; waits for none of it.
Result<void> Kernel::start() {
  for (auto const side : {Side::left, Side::right}) {
    auto& rows = rows_of(side);
    auto const& span = slice_.of(side);
    rows.span_rows = span.rows;
    rows.chosen = expr::rows_that_may_match(join_.condition, join_.parts, side, span.first, span.rows);
    rows.rows = rows.chosen ? rows.chosen->size() : span.rows;
  }
  if (is_empty() || is_product()) return {};
  ConditionProgram const program(join_.condition, join_.parts, probe_side_);
  for (auto const side : {Side::left, Side::right}) GARUDA_TRY(upload(side, program.read(side)));
  return {};
}

Result<void> Kernel::upload(Side side, std::vector<SideWords> words) {
  auto& rows = rows_of(side);
  rows.words = std::move(words);
  // Quads of shared memory are read to their end, where nothing is compared: buffers are multiples of 16 bytes.
  for (auto const& one : rows.words) GARUDA_TRY(upload_column(rows, side, one));
  return {};
}

Result<void> Kernel::upload_column(SideRows& rows, Side side, SideWords const& words) {
  expr::ColumnWords const column(join_.condition.of(side)[words.column], slice_.of(side).first);
  bool const is_wide = column.is_wide() && !words.is_validity;
  std::span<std::byte const> bytes;
  if (!rows.chosen && !words.is_validity) {
    bytes = is_wide ? std::as_bytes(std::span(column.words64(), rows.rows))
                    : std::as_bytes(std::span(column.words32(), rows.rows));
  } else {
    auto& taken = rows.taken.emplace_back(is_wide ? rows.rows : (rows.rows + 1) / 2);
    auto* const narrow = reinterpret_cast<std::uint32_t*>(taken.data());
    for (std::uint32_t i = 0; i < rows.rows; ++i) {
      auto const row = rows.row(i);
      if (words.is_validity)
        narrow[i] = column.is_valid(row) ? 1 : 0;
      else if (is_wide)
        taken[i] = column.words64()[row];
      else
        narrow[i] = column.words32()[row];
    }
    bytes = std::as_bytes(std::span(taken)).first(rows.rows * (is_wide ? 8 : 4));
  }
  GARUDA_TRY_ASSIGN(auto buffer, context_.input(bytes, "compared words", kQuadBytes));
  rows.buffers.push_back(std::move(buffer));
  return {};
}

/// `steps`: holds the program, where there is one.
Result<shaders::NestedCondition> Kernel::condition_of(ConditionProgram const& program, vk::Buffer& steps) {
  auto const probe = rows_of(program.probe()).addresses(program.read(program.probe()));
  auto const build_side = other_side(program.probe());
  auto const build = rows_of(build_side).addresses(program.read(build_side));
  shaders::NestedCondition condition{};
  condition.num_probe = static_cast<std::uint32_t>(rows_of(program.probe()).rows);
  if (program.is_simple()) {
    auto const& first = program.compared().front();
    auto const& second = program.compared().back();
    condition.probe_first = probe[first.probe];
    condition.probe_second = probe[second.probe];
    condition.build_first = build[first.build];
    condition.build_second = build[second.build];
    return condition;
  }
  auto const words = program.words({probe, build});
  condition.num_steps = static_cast<std::uint32_t>(words.size() / shaders::kStepWords);
  auto const bytes = std::as_bytes(std::span(words));
  GARUDA_TRY_ASSIGN(steps, context_.device_buffer(bytes.size(), "steps of a condition", context_.upload_use()));
  GARUDA_TRY(context_.upload(steps, 0, bytes));
  condition.program = steps.address();
  return condition;
}

/// The number of matches of each row of a side that may match.
Result<std::vector<std::uint32_t>> Kernel::count_matches(Side probe) {
  ConditionProgram const program(join_.condition, join_.parts, probe);
  auto const num_probe = rows_of(probe).rows;
  auto const num_build = rows_of(other_side(probe)).rows;
  GARUDA_TRY_ASSIGN(auto const counts, context_.device_buffer(num_probe * 4, "matches of rows"));
  GARUDA_TRY(context_.fill(vulkan::phase::kCount, counts, 0));
  vk::Buffer steps;
  shaders::NestedCountPush push{};
  GARUDA_TRY_ASSIGN(push.condition, condition_of(program, steps));
  push.counts = counts.address();
  auto const shape = count_shape(program.constants(), program.is_simple());
  push.probe_groups =
      static_cast<std::uint32_t>(groups_for(num_probe, std::uint64_t{context_.tuning().group_size} * shape.items));
  push.chunk_rows = static_cast<std::uint32_t>(kChunkRows);
  auto const dispatched = std::max(kDispatchedPairs / num_probe / kChunkRows, std::uint64_t{1}) * kChunkRows;
  for (std::uint64_t first = 0; first < num_build; first += dispatched) {
    auto const end = std::min(first + dispatched, num_build);
    push.first_build = static_cast<std::uint32_t>(first);
    push.end_build = static_cast<std::uint32_t>(end);
    // They add to the same counts in any order: the first waits for these to be cleared, the others for nothing.
    GARUDA_TRY(context_.dispatch(vulkan::phase::kCount, shape, push,
                                 groups_for(end - first, kChunkRows) * push.probe_groups,
                                 num_probe * (end - first) / kPairsOfItem, first > 0));
  }
  GARUDA_TRY(context_.order_all(vulkan::phase::kCount));
  std::vector<std::uint32_t> found(num_probe);
  GARUDA_TRY(context_.download(counts, std::as_writable_bytes(std::span(found))));
  return found;
}

Result<void> Kernel::count_rows() {
  auto& counts = counts_[static_cast<std::size_t>(probe_side_)];
  if (!counts) {
    GARUDA_TRY_ASSIGN(counts, count_matches(probe_side_));
  }
  if (!firsts_.empty()) return {};
  firsts_.resize(counts->size() + 1);
  for (std::size_t row = 0; row < counts->size(); ++row) firsts_[row + 1] = firsts_[row] + (*counts)[row];
  return {};
}

Result<std::uint64_t> Kernel::count() {
  if (is_empty()) return 0;
  if (is_product()) return left_.rows * right_.rows;
  GARUDA_TRY(count_rows());
  return firsts_.back();
}

/// Writes the pairs from `first` on and brings them to the host.
Result<void> Kernel::load_window(std::uint64_t first) {
  auto const& counts = *counts_[static_cast<std::size_t>(probe_side_)];
  auto const capacity = std::min(firsts_.back() - first, kWindowPairs);
  auto const begin =
      static_cast<std::size_t>(std::upper_bound(firsts_.begin(), firsts_.end(), first) - firsts_.begin() - 1);
  std::vector<std::uint32_t> listed;
  for (auto row = begin; row < counts.size() && firsts_[row] < first + capacity; ++row)
    if (counts[row] != 0)
      listed.insert(listed.end(),
                    {static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(firsts_[row] - first), counts[row]});
  auto const bytes = std::as_bytes(std::span(listed));
  GARUDA_TRY_ASSIGN(auto const rows, context_.device_buffer(bytes.size(), "listed rows", context_.upload_use()));
  GARUDA_TRY(context_.upload(rows, 0, bytes));
  GARUDA_TRY_ASSIGN(auto const probe, context_.device_buffer(capacity * 4, "probe rows of pairs"));
  GARUDA_TRY_ASSIGN(auto const build, context_.device_buffer(capacity * 4, "build rows of pairs"));
  ConditionProgram const program(join_.condition, join_.parts, probe_side_);
  vk::Buffer steps;
  shaders::NestedPairsPush push{};
  GARUDA_TRY_ASSIGN(push.condition, condition_of(program, steps));
  auto const num_build = rows_of(other_side(probe_side_)).rows;
  push.num_build = static_cast<std::uint32_t>(num_build);
  push.capacity = static_cast<std::uint32_t>(capacity);
  push.probe = probe.address();
  push.build = build.address();
  auto const shape = pairs_shape(program.constants());
  auto const subgroups = context_.tuning().group_size / context_.tuning().subgroup_size;
  auto const num_rows = listed.size() / 3;
  auto const dispatched =
      std::max<std::uint64_t>(kDispatchedPairs / num_build, std::uint64_t{kListedItems} * subgroups);
  for (std::uint64_t row = 0; row < num_rows; row += dispatched) {
    auto const taken = std::min(dispatched, num_rows - row);
    push.rows = rows.address() + row * 3 * sizeof(std::uint32_t);
    push.num_rows = static_cast<std::uint32_t>(taken);
    GARUDA_TRY(context_.dispatch(vulkan::phase::kProbe, shape, push,
                                 groups_for(taken, std::uint64_t{kListedItems} * subgroups),
                                 taken * num_build / kPairsOfItem, row > 0));
  }
  GARUDA_TRY(context_.order_all(vulkan::phase::kProbe));
  for (auto const side : {Side::left, Side::right}) {
    auto& window = window_rows_[static_cast<std::size_t>(side)];
    window.resize(capacity);
    GARUDA_TRY(context_.download(side == probe_side_ ? probe : build, std::as_writable_bytes(std::span(window))));
    if (auto const& own = rows_of(side); own.chosen)
      for (auto& row : window) row = own.row(row);
  }
  window_ = {first, window_rows_[0], window_rows_[1]};
  submissions_.add_counter("windows", 1);
  return {};
}

contract::RowPair Kernel::product_pair(std::uint64_t position) const {
  return {left_.row(static_cast<std::uint32_t>(position / right_.rows)),
          right_.row(static_cast<std::uint32_t>(position % right_.rows))};
}

Result<void> Kernel::pairs(std::uint64_t first, std::span<contract::RowPair> out) {
  GARUDA_TRY_ASSIGN(auto const total, count());
  GARUDA_EXPECTS(first <= total && out.size() <= total - first);
  if (is_product()) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = product_pair(first + i);
    return {};
  }
  return contract::read_pairs(window_, first, out, [&](std::uint64_t position) { return load_window(position); });
}

Result<contract::MarkBitmap> Kernel::mark(Side side) {
  auto const& rows = rows_of(side);
  contract::MarkBitmap bitmap(contract::bitmap_words(rows.span_rows));
  if (is_empty()) return bitmap;
  auto const set = [&](std::uint32_t position) {
    auto const row = rows.row(position);
    bitmap[row / 64] |= std::uint64_t{1} << row % 64;
  };
  if (is_product()) {
    for (std::uint32_t position = 0; position < rows.rows; ++position) set(position);
    return bitmap;
  }
  auto& counts = counts_[static_cast<std::size_t>(side)];
  if (!counts) {
    GARUDA_TRY_ASSIGN(counts, count_matches(side));
  }
  for (std::uint32_t position = 0; position < rows.rows; ++position)
    if ((*counts)[position] != 0) set(position);
  return bitmap;
}

}  // namespace

Result<std::unique_ptr<contract::ConditionBackend>> open_compute_condition_join(vk::Device& device,
                                                                                vk::PipelineStore& pipelines,
                                                                                contract::BackendOptions const& options,
                                                                                expr::PairCondition const& condition) {
  using Backend = vulkan::LaneBackend<contract::ConditionBackend, contract::JoinKernel, contract::ConditionSlice,
                                      contract::BackendOptions>;
  JoinCondition const join{condition, expr::parts_of(condition)};
  if (!fits_passes(join.parts))
    return fail(ErrorCode::usage, "the condition keeps more results at a time than the compute path's passes do");
  GARUDA_TRY_ASSIGN(auto const tuning, compute_tuning(device.traits()));
  return Backend::open(device, options, "compute join lane",
                       [&pipelines, tuning, join](auto const& own, auto const& given,
                                                  auto const& slice) -> Result<std::unique_ptr<contract::JoinKernel>> {
                         GARUDA_EXPECTS(std::max(slice.left.rows, slice.right.rows) <= contract::kMaxPassRows);
                         auto kernel = std::make_unique<Kernel>(join, own, pipelines, tuning, given, slice);
                         GARUDA_TRY(kernel->start());
                         return std::unique_ptr<contract::JoinKernel>(std::move(kernel));
                       });
}

std::uint64_t compute_condition_join_bytes(expr::PairCondition const& condition, std::uint64_t left_rows,
                                           std::uint64_t right_rows) noexcept {
  auto const bytes_of = [&](Side side) {
    std::uint64_t bytes = 4;  // counts, or listed rows
    for (auto const& column : condition.of(side)) bytes += (column.is_wide() ? 8 : 4) + (column.valid.empty() ? 0 : 4);
    return bytes;
  };
  auto const listed = std::min(std::max(left_rows, right_rows), kWindowPairs) * 3 * sizeof(std::uint32_t);
  return left_rows * bytes_of(Side::left) + right_rows * bytes_of(Side::right) + listed +
         kWindowPairs * 2 * sizeof(std::uint32_t);
}

std::vector<vk::ComputePipelineSpec> condition_join_pipelines(ComputeTuning const& tuning) {
  std::vector<vk::ComputePipelineSpec> specs;
  auto const add = [&](std::vector<vk::SpecConstant> const& constants, bool is_simple) {
    specs.push_back(compute_pipeline(count_shape(constants, is_simple), tuning));
    specs.push_back(compute_pipeline(pairs_shape(constants), tuning));
  };
  for (std::uint32_t const words : {1U, 2U})
    for (std::uint32_t comparisons : {1U, 2U})
      add({{shaders::kSpecComparisons, comparisons},
           {shaders::kSpecFirstComparator, shaders::kGreaterEqual},
           {shaders::kSpecSecondComparator, shaders::kLess},
           {shaders::kSpecFirstWords, words},
           {shaders::kSpecSecondWords, 3 - words},
           {shaders::kSpecSameProbe, 0},
           {shaders::kSpecSameBuild, 0}},
          true);
  add({{shaders::kSpecComparisons, shaders::kProgram}}, false);
  return specs;
}

}  // namespace garuda::compute
