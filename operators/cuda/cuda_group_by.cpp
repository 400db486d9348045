#include "operators/cuda/cuda_group_by.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "operators/cuda/cuda_lane.hpp"

namespace garuda::cuda {
namespace {

static_assert(static_cast<int>(contract::ValueKind::none) == GARUDA_CUDA_NONE);
static_assert(static_cast<int>(contract::ValueKind::int32) == GARUDA_CUDA_INT32);
static_assert(static_cast<int>(contract::ValueKind::uint32) == GARUDA_CUDA_UINT32);
static_assert(static_cast<int>(contract::ValueKind::int64) == GARUDA_CUDA_INT64);
static_assert(static_cast<int>(contract::ValueKind::uint64) == GARUDA_CUDA_UINT64);
static_assert(static_cast<int>(contract::ValueKind::int128) == GARUDA_CUDA_INT128);
static_assert(static_cast<int>(contract::ValueKind::float32) == GARUDA_CUDA_FLOAT32);
static_assert(static_cast<int>(contract::ValueKind::float64) == GARUDA_CUDA_FLOAT64);
static_assert(contract::kCountState == GARUDA_CUDA_COUNT && contract::kSumState == GARUDA_CUDA_SUM &&
              contract::kMinState == GARUDA_CUDA_MIN && contract::kMaxState == GARUDA_CUDA_MAX);

/// The plug-in's groups behind the contract: rows are numbered and columns go up when they are asked for.
class CudaGroupKernel final : public contract::GroupByKernel {
 public:
  CudaGroupKernel(CudaLane& lane, std::uint64_t expected_groups, contract::GroupSlice const& slice)
      : lane_(lane), expected_groups_(expected_groups), slice_(slice) {}
  CudaGroupKernel(CudaGroupKernel const&) = delete;
  CudaGroupKernel& operator=(CudaGroupKernel const&) = delete;
  ~CudaGroupKernel() override = default;

  Result<void> start();
  Result<std::uint64_t> group() override;
  Result<std::span<std::uint32_t const>> heads() override {
    heads_.resize(numbered_.groups);
    GARUDA_TRY(download(numbered_.heads, std::span(heads_)));
    return heads_;
  }
  Result<void> group_ids(std::span<std::uint32_t> out) override { return download(numbered_.ids, out); }
  Result<contract::AggregateState> aggregate(contract::AggregateInput const& input) override;

 private:
  template <class Word>
  Result<void> download(std::uint64_t address, std::span<Word> out) {
    return call(lane_.api().download, lane_.handle(), address, out.data(), out.size_bytes());
  }
  /// `each` words of each group; none at address 0.
  Result<contract::Words> words_of(std::uint64_t address, std::uint32_t each);
  Result<contract::FloatSums> float_sums(GarudaCudaStates const& states);
  Result<contract::Words> sums(GarudaCudaStates const& states, contract::ValueKind kind);

  CudaLane& lane_;
  std::uint64_t expected_groups_;
  contract::GroupSlice slice_;
  CudaMemory keys_;
  std::shared_ptr<GarudaCudaGroups> groups_;
  GarudaCudaNumberedRows numbered_{};
  std::vector<std::uint32_t> heads_;
};

Result<void> CudaGroupKernel::start() {
  GARUDA_EXPECTS(slice_.num_rows >= 1 && slice_.num_rows <= contract::kMaxPassRows);
  std::vector<std::span<std::byte const>> columns;
  if (auto const* const packed = std::get_if<contract::KeySpan>(&slice_.keys))
    columns.push_back(std::visit([](auto const& words) { return std::as_bytes(words); }, packed->words));
  if (auto const* const several = std::get_if<contract::KeyWords>(&slice_.keys))
    for (auto const& words : several->words) columns.push_back(std::as_bytes(words));
  if (columns.empty()) return {};
  auto const column_bytes = columns.front().size();
  GARUDA_TRY_ASSIGN(keys_, CudaMemory::allocate(lane_, column_bytes * columns.size()));
  for (std::size_t c = 0; c < columns.size(); ++c)
    GARUDA_TRY(call(lane_.api().upload, lane_.handle(), keys_.address() + c * column_bytes, columns[c].data(),
                    columns[c].size()));
  return {};
}

Result<std::uint64_t> CudaGroupKernel::group() {
  GarudaCudaGroupKeys keys{};
  keys.address = keys_.address();
  keys.expected_groups = expected_groups_;
  keys.rows = static_cast<std::uint32_t>(slice_.num_rows);
  if (auto const* const packed = std::get_if<contract::KeySpan>(&slice_.keys))
    keys.key_bits = std::holds_alternative<std::span<std::uint32_t const>>(packed->words) ? 32 : 64;
  if (auto const* const several = std::get_if<contract::KeyWords>(&slice_.keys))
    keys.num_words = static_cast<std::uint32_t>(several->words.size());
  GarudaCudaGroups* groups = nullptr;
  GARUDA_TRY(call(lane_.api().begin_groups, lane_.handle(), &keys, &groups, &numbered_));
  groups_ = {groups, lane_.api().end_groups};
  keys_ = {};
  return std::uint64_t{numbered_.groups};
}

Result<contract::Words> CudaGroupKernel::words_of(std::uint64_t address, std::uint32_t each) {
  contract::Words words(address == 0 ? 0 : std::size_t{numbered_.groups} * each);
  if (!words.empty()) GARUDA_TRY(download(address, std::span(words)));
  return words;
}

/// Reads the sums of floats; all groups have the same windows.
Result<contract::FloatSums> CudaGroupKernel::float_sums(GarudaCudaStates const& states) {
  contract::FloatSums sums;
  GARUDA_TRY_ASSIGN(auto const flags, words_of(states.flags, 1));
  sums.flags.assign(flags.begin(), flags.end());
  sums.first_window.assign(numbered_.groups, static_cast<std::uint8_t>(states.first_window));
  sums.offsets.resize(std::size_t{numbered_.groups} + 1);
  for (std::size_t g = 0; g < sums.offsets.size(); ++g) sums.offsets[g] = g * states.num_windows;
  GARUDA_TRY_ASSIGN(sums.windows, words_of(states.windows, 2 * states.num_windows));
  return sums;
}

Result<contract::Words> CudaGroupKernel::sums(GarudaCudaStates const& states, contract::ValueKind kind) {
  auto const from = contract::value_words(kind);  // as many words of 64 bits: 1, 2 or 4
  auto const to = contract::sum_words(kind);
  GARUDA_TRY_ASSIGN(auto const found, words_of(states.sums, from));
  contract::Words sums(std::size_t{numbered_.groups} * to);
  auto const sign_of = [](std::uint64_t word) { return word >> 63 != 0 ? ~std::uint64_t{0} : 0; };
  for (std::size_t g = 0; g < numbered_.groups; ++g) {
    auto const* const own = &found[g * from];
    auto* const out = &sums[g * to];
    out[0] = own[0];
    if (from == 1) {
      out[1] = contract::is_signed_integer(kind) ? sign_of(own[0]) : 0;
    } else if (from == 2) {
      out[1] = own[1];
    } else {
      // What the low words carry goes to the sum of the high ones.
      out[1] = own[2] + own[1];
      out[2] = own[3] + (out[1] < own[1] ? 1 : 0);
      out[3] = sign_of(out[2]);
    }
  }
  return sums;
}

Result<contract::AggregateState> CudaGroupKernel::aggregate(contract::AggregateInput const& input) {
  CudaMemory values;
  CudaMemory validity;
  if (!input.values.empty()) {
    GARUDA_TRY_ASSIGN(values, CudaMemory::upload(lane_, std::as_bytes(input.values)));
  }
  if (!input.validity.empty()) {
    GARUDA_TRY_ASSIGN(validity, CudaMemory::upload(lane_, std::as_bytes(input.validity)));
  }
  GarudaCudaAggregate const column{values.address(), validity.address(), static_cast<std::uint32_t>(input.kind),
                                   input.states};
  GarudaCudaStates states{};
  GARUDA_TRY(call(lane_.api().aggregate, groups_.get(), &column, &states));
  contract::AggregateState found;
  auto const has = [&](contract::StateSet bit) { return (input.states & bit) != 0; };
  auto const extreme_words = contract::extreme_words(input.kind);
  GARUDA_TRY_ASSIGN(found.counts, words_of(states.counts, 1));
  GARUDA_TRY_ASSIGN(found.minima, words_of(states.minima, extreme_words));
  GARUDA_TRY_ASSIGN(found.maxima, words_of(states.maxima, extreme_words));
  if (has(contract::kSumState) && contract::is_float(input.kind)) {
    GARUDA_TRY_ASSIGN(found.float_sums, float_sums(states));
  } else if (has(contract::kSumState)) {
    GARUDA_TRY_ASSIGN(found.sums, sums(states, input.kind));
  }
  return found;
}

Result<std::unique_ptr<contract::GroupByKernel>> begin_groups(CudaLane& lane,
                                                              contract::GroupByBackendOptions const& options,
                                                              contract::GroupSlice const& slice) {
  auto kernel = std::make_unique<CudaGroupKernel>(lane, options.expected_groups, slice);
  GARUDA_TRY(kernel->start());
  return std::unique_ptr<contract::GroupByKernel>(std::move(kernel));
}

}  // namespace

Result<std::unique_ptr<contract::GroupByBackend>> open_cuda_group_by(CudaDevice& device,
                                                                     contract::GroupByBackendOptions const& options) {
  using Backend = CudaBackend<contract::GroupByBackend, contract::GroupByKernel, contract::GroupSlice,
                              contract::GroupByBackendOptions>;
  return Backend::open(device, options, begin_groups);
}

std::uint64_t cuda_group_by_bytes(std::uint64_t rows, std::uint32_t key_words, std::uint32_t value_words) {
  // cuda_backend/group_by. While rows are grouped: keys, slots (4), one table with 4 bytes for each of at most four
  // slots (16), flags, numbers and ids (12).
  constexpr std::uint64_t kGrouping = 32;
  // Then ids and heads (8), values with validity (1), and for as many groups as rows a count (8), the widest sum (32),
  // two wide extremes (32), special values (8) and three windows of floats (48).
  constexpr std::uint64_t kAggregating = 137;
  auto const grouping = kGrouping + 4 * std::uint64_t{key_words};
  auto const aggregating = kAggregating + 4 * std::uint64_t{value_words};
  return rows * std::max(grouping, aggregating);
}

}  // namespace garuda::cuda
