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
#include "operators/vulkan/submissions.hpp"
#include "operators/vulkan/vulkan_devices.hpp"
#include "shaders/compute/conditions/nested_join_layout.h"

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

/// Resources that kernels of one join share.
struct JoinResources {
  vk::PipelineStore* pipelines = nullptr;
  ComputeTuning const* tuning = nullptr;
  contract::BackendOptions const* options = nullptr;
  expr::PairCondition const* condition = nullptr;
  expr::ConditionParts const* parts = nullptr;
  std::uint64_t memory_budget_bytes = 0;  ///< of a lane
};

class Kernel final : public contract::JoinKernel {
 public:
  Kernel(JoinResources const& join, vk::Lane& lane, contract::ConditionSlice const& slice)
      : join_(join),
        slice_(slice),
        lane_(lane),
        submissions_(lane, join.options->control, join.options->stats),
        context_(lane, *join.pipelines, submissions_, *join.tuning, join.memory_budget_bytes) {
    bool const left_is_larger = slice.left.rows > slice.right.rows;
    probe_side_ = left_is_larger ? Side::left : Side::right;
    if (join.options->tuning.build == BuildSide::left) probe_side_ = Side::right;
    if (join.options->tuning.build == BuildSide::right) probe_side_ = Side::left;
  }

  ~Kernel() override {
    // A failure to drain is a lost device: nothing runs any more, and the next call on the lane reports it.
    (void)lane_.drain();
  }

  Result<void> start();
  Result<std::uint64_t> count() override;
  Result<void> pairs(std::uint64_t first, std::span<contract::RowPair> out) override;
  Result<contract::MarkBitmap> mark(Side side) override;

 private:
  bool is_empty() const { return join_.parts->is_never || left_.rows == 0 || right_.rows == 0; }
  /// Whether all rows that may match do match.
  bool is_product() const { return join_.parts->cross.empty() && join_.parts->rest.empty(); }
  SideRows& rows_of(Side side) { return side == Side::left ? left_ : right_; }
  Result<void> upload(Side side, std::vector<SideWords> words);
  Result<void> upload_column(SideRows& rows, Side side, SideWords const& words);
  Result<shaders::NestedCondition> condition_of(ConditionProgram const& program, vk::Buffer& steps);
  Result<std::vector<std::uint32_t>> count_matches(Side probe);
  Result<void> count_rows();
  Result<void> load_window(std::uint64_t first);
  contract::RowPair product_pair(std::uint64_t position) const;

  JoinResources join_;
  contract::ConditionSlice slice_;
  vk::Lane& lane_;
  vulkan::Submissions submissions_;
  ComputeContext context_;
  Side probe_side_ = Side::left;
  SideRows left_;
  SideRows right_;
  std::array<std::optional<std::vector<std::uint32_t>>, 2> counts_;  // of a side's rows, once known
  std::vector<std::uint64_t> firsts_;                                // of the probe rows' pairs, then all of them
  std::uint64_t window_first_ = 0;                                   // of the pairs that are on the host
  std::vector<std::uint32_t> window_probe_;
  std::vector<std::uint32_t> window_build_;
};

/// Uploads what the condition reads of both sides; waits for none of it.
Result<void> Kernel::start() {
  for (auto const side : {Side::left, Side::right}) {
    auto& rows = rows_of(side);
    auto const& span = slice_.of(side);
    rows.span_rows = span.rows;
    rows.chosen = expr::rows_that_may_match(*join_.condition, *join_.parts, side, span.first, span.rows);
    rows.rows = rows.chosen ? rows.chosen->size() : span.rows;
  }
  if (is_empty() || is_product()) return {};
  ConditionProgram const program(*join_.condition, *join_.parts, probe_side_);
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
  expr::ColumnWords const column(join_.condition->of(side)[words.column], slice_.of(side).first);
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
  ConditionProgram const program(*join_.condition, *join_.parts, probe);
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
  ConditionProgram const program(*join_.condition, *join_.parts, probe_side_);
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
  window_first_ = first;
  auto const load = [&](vk::Buffer const& column, std::vector<std::uint32_t>& window) {
    window.resize(capacity);
    return context_.download(column, std::as_writable_bytes(std::span(window)));
  };
  GARUDA_TRY(load(probe, window_probe_));
  GARUDA_TRY(load(build, window_build_));
  if (join_.options->stats != nullptr) join_.options->stats->add_counter("windows", 1);
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
  auto const& probe = rows_of(probe_side_);
  auto const& build = rows_of(other_side(probe_side_));
  for (std::size_t done = 0; done < out.size();) {
    auto const position = first + done;
    bool const is_here = position >= window_first_ && position - window_first_ < window_probe_.size();
    if (!is_here) GARUDA_TRY(load_window(position));
    auto const offset = position - window_first_;
    auto const taken = std::min<std::uint64_t>(window_probe_.size() - offset, out.size() - done);
    for (std::uint64_t i = 0; i < taken; ++i) {
      auto const probe_row = probe.row(window_probe_[offset + i]);
      auto const build_row = build.row(window_build_[offset + i]);
      out[done + i] =
          probe_side_ == Side::left ? contract::RowPair{probe_row, build_row} : contract::RowPair{build_row, probe_row};
    }
    done += taken;
  }
  return {};
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

class Backend final : public contract::ConditionBackend {
 public:
  static Result<std::unique_ptr<contract::ConditionBackend>> open(vk::Device& device, vk::PipelineStore& pipelines,
                                                                  contract::BackendOptions const& options,
                                                                  expr::PairCondition const& condition) {
    GARUDA_EXPECTS(options.lanes > 0);
    std::unique_ptr<Backend> backend(new Backend(pipelines, options, condition));
    if (!fits_passes(backend->parts_))
      return fail(ErrorCode::usage, "the condition keeps more results at a time than the compute path's passes do");
    GARUDA_TRY_ASSIGN(backend->tuning_, compute_tuning(device.traits()));
    GARUDA_TRY_ASSIGN(backend->lanes_,
                      vulkan::DeviceLanes::open(device, {options.lanes, options.tuning.upload,
                                                         options.device_memory_limit_bytes, "compute join lane"}));
    return std::unique_ptr<contract::ConditionBackend>(std::move(backend));
  }

  Result<std::unique_ptr<contract::JoinKernel>> begin(contract::ConditionSlice const& slice,
                                                      std::uint32_t lane) override {
    GARUDA_EXPECTS(slice.left.rows <= contract::kMaxPassRows && slice.right.rows <= contract::kMaxPassRows);
    GARUDA_TRY_ASSIGN(auto* const own, lanes_.take(lane));
    auto kernel = std::make_unique<Kernel>(
        JoinResources{&pipelines_, &tuning_, &options_, &condition_, &parts_, lanes_.lane_budget_bytes}, *own, slice);
    GARUDA_TRY(kernel->start());
    return std::unique_ptr<contract::JoinKernel>(std::move(kernel));
  }

 private:
  Backend(vk::PipelineStore& pipelines, contract::BackendOptions const& options, expr::PairCondition const& condition)
      : pipelines_(pipelines), options_(options), condition_(condition), parts_(expr::parts_of(condition)) {}

  vk::PipelineStore& pipelines_;
  contract::BackendOptions options_;
  expr::PairCondition const& condition_;
  expr::ConditionParts parts_;
  ComputeTuning tuning_;
  vulkan::DeviceLanes lanes_;
};

}  // namespace

Result<std::unique_ptr<contract::ConditionBackend>> open_compute_condition_join(vk::Device& device,
                                                                                vk::PipelineStore& pipelines,
                                                                                contract::BackendOptions const& options,
                                                                                expr::PairCondition const& condition) {
  return Backend::open(device, pipelines, options, condition);
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
