// Priced as compute passes of the same GPU: both move the same bytes.
#include "operators/cuda/cuda_path.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "operators/compute/group_by/compute_group_by.hpp"
#include "operators/compute/join/resident_join_strategies.hpp"
#include "operators/contract/join_kernel.hpp"
#include "operators/contract/offers/costs.hpp"
#include "operators/cuda/cuda_device.hpp"
#include "operators/cuda/cuda_lane.hpp"

namespace garuda::cuda {
namespace {

Result<contract::JoinOffers> join_offers(contract::JoinInquiry const& inquiry) {
  auto const& shape = inquiry.shape;
  if (inquiry.options.tuning.method == JoinMethod::bitmap)
    return fail(ErrorCode::usage, "method=bitmap is of paths cpu and compute");
  auto offer = contract::device_join_offer(Path::cuda, inquiry);
  contract::size_device_join(inquiry, offer, [&](std::uint64_t rows) {
    return cuda_join_bytes(std::min(shape.left.rows, rows), std::min(shape.right.rows, rows), shape.key_bits);
  });
  auto const cut = contract::cut_join(inquiry, offer);
  offer.candidate.choices = contract::to_string(cut);
  contract::set_phases(offer.candidate, compute::compute_join_costs(shape, cut, inquiry.facts().rates(), inquiry.host));
  return contract::JoinOffers{{std::move(offer)}, {}};
}

Result<contract::GroupByOffers> group_by_offers(contract::GroupByInquiry const& inquiry) {
  auto const& shape = inquiry.shape;
  auto offer = contract::device_group_by_offer(Path::cuda, inquiry);
  contract::size_device_group_by(inquiry, offer, contract::kMaxPassRows, [&](std::uint64_t rows) {
    return cuda_group_by_bytes(rows, contract::words_of_keys(shape), contract::widest_value(shape.requests));
  });
  auto const cut = contract::cut_group_by(inquiry, offer);
  contract::set_phases(offer.candidate,
                       compute::compute_group_by_costs(shape, cut, inquiry.facts().rates(), inquiry.host));
  return contract::GroupByOffers{{std::move(offer)}, {}};
}

static_assert(static_cast<int>(BuildSide::automatic) == GARUDA_CUDA_BUILD_AUTOMATIC);
static_assert(static_cast<int>(BuildSide::left) == GARUDA_CUDA_BUILD_LEFT);
static_assert(static_cast<int>(BuildSide::right) == GARUDA_CUDA_BUILD_RIGHT);

/// Room for more pairs than are expected, because the estimate comes from a sample, but for no more than so many a row
/// of the larger side before they are counted.
constexpr double kSlack = 1.25;
constexpr double kMostExpectedOfRow = 8;
/// Pairs that come to the host at a time.
constexpr std::uint64_t kWindowPairs = std::uint64_t{1} << 20;
constexpr std::uint64_t kNumberBytes = sizeof(std::uint32_t);

/// A join of resident tables that have nothing but keys and row numbers, behind the contract.
class CudaKernel final : public contract::JoinKernel {
 public:
  CudaKernel(CudaLane& lane, contract::BackendOptions const& options, contract::JoinSlice const& slice)
      : lane_(lane), options_(options), slice_(slice) {}
  CudaKernel(CudaKernel const&) = delete;
  CudaKernel& operator=(CudaKernel const&) = delete;
  ~CudaKernel() override = default;

  Result<void> start();
  Result<std::uint64_t> count() override;
  Result<void> pairs(std::uint64_t first, std::span<contract::RowPair> out) override;
  Result<contract::MarkBitmap> mark(Side side) override;

 private:
  /// The row numbers of one side of some pairs.
  using Numbers = std::vector<std::uint32_t>;

  bool is_empty() const { return slice_.left.size() == 0 || slice_.right.size() == 0; }
  Result<GarudaCudaResidentTable> upload(contract::KeySpan const& keys);
  Result<void> load_window(std::uint64_t first);

  CudaLane& lane_;
  contract::BackendOptions const& options_;
  contract::JoinSlice slice_;
  std::vector<CudaMemory> keys_;
  std::shared_ptr<GarudaCudaResidentJoin> join_;  // none of a slice without rows on both sides
  std::optional<GarudaCudaResidentRows> rows_;
  contract::PairWindow window_;
  Numbers left_room_;  // of windows that come to the host
  Numbers right_room_;
};

Result<GarudaCudaResidentTable> CudaKernel::upload(contract::KeySpan const& keys) {
  auto const words = std::visit([](auto const& span) { return std::as_bytes(span); }, keys.words);
  GARUDA_TRY_ASSIGN(auto memory, CudaMemory::upload(lane_, words));
  GarudaCudaResidentTable table{};
  table.rows = keys.size();
  table.key = {memory.address(), static_cast<std::uint32_t>(words.size() / keys.size())};
  table.num_columns = 1;
  table.columns[0] = {0, kNumberBytes};
  keys_.push_back(std::move(memory));
  return table;
}

Result<void> CudaKernel::start() {
  GARUDA_EXPECTS(slice_.left.size() <= contract::kMaxPassRows && slice_.right.size() <= contract::kMaxPassRows);
  if (is_empty()) return {};
  GARUDA_TRY_ASSIGN(auto const left, upload(slice_.left));
  GARUDA_TRY_ASSIGN(auto const right, upload(slice_.right));
  GarudaCudaResidentTuning tuning{};
  tuning.build = static_cast<std::uint32_t>(options_.tuning.build);
  std::uint32_t const parts = options_.pairs_wanted ? GARUDA_CUDA_JOIN_COLUMNS : GARUDA_CUDA_JOIN_NOTHING;
  // A foreign key finds its primary key; more room is taken where rows multiply more than expected.
  auto const larger = static_cast<double>(std::max(left.rows, right.rows));
  auto const expected =
      static_cast<std::uint64_t>(larger * std::clamp(kSlack * options_.pairs_of_row, 1.0, kMostExpectedOfRow));
  GarudaCudaResidentJoin* join = nullptr;
  GARUDA_TRY(call(lane_.api().begin_resident_join, lane_.handle(), &left, &right, parts, expected, &tuning, &join));
  join_ = {join, lane_.api().end_resident_join};
  return {};
}

Result<std::uint64_t> CudaKernel::count() {
  if (is_empty()) return 0;
  if (!rows_) {
    GarudaCudaResidentRows rows{};
    GARUDA_TRY(call(lane_.api().run_resident_join, join_.get(), &rows));
    rows_ = rows;
  }
  return rows_->rows;
}

/// Brings the pairs from `first` on to the host.
Result<void> CudaKernel::load_window(std::uint64_t first) {
  auto const rows = std::min(rows_->rows - first, kWindowPairs);
  auto const load = [&](GarudaCudaColumn const& column, Numbers& numbers) {
    numbers.resize(rows);
    return call(lane_.api().download, lane_.handle(), column.address + first * kNumberBytes, numbers.data(),
                rows * kNumberBytes);
  };
  GARUDA_TRY(load(rows_->left[0], left_room_));
  GARUDA_TRY(load(rows_->right[0], right_room_));
  window_ = {first, left_room_, right_room_};
  if (options_.stats != nullptr) options_.stats->add_counter("windows", 1);
  return {};
}

Result<void> CudaKernel::pairs(std::uint64_t first, std::span<contract::RowPair> out) {
  GARUDA_TRY_ASSIGN(auto const total, count());
  GARUDA_EXPECTS(options_.pairs_wanted && first <= total && out.size() <= total - first);
  return contract::read_pairs(window_, first, out, [&](std::uint64_t position) { return load_window(position); });
}

Result<contract::MarkBitmap> CudaKernel::mark(Side side) {
  bool const is_left = side == Side::left;
  contract::MarkBitmap bitmap(contract::bitmap_words(is_left ? slice_.left.size() : slice_.right.size()));
  GARUDA_TRY_ASSIGN(auto const total, count());
  if (total > 0)
    GARUDA_TRY(call(lane_.api().mark_resident_join, join_.get(), is_left ? 1 : 0, bitmap.size(), bitmap.data()));
  return bitmap;
}

Result<std::unique_ptr<contract::JoinKernel>> begin_join(CudaLane& lane, contract::BackendOptions const& options,
                                                         contract::JoinSlice const& slice) {
  auto kernel = std::make_unique<CudaKernel>(lane, options, slice);
  GARUDA_TRY(kernel->start());
  return std::unique_ptr<contract::JoinKernel>(std::move(kernel));
}

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
      // The carry of the low words goes to the sum of the high ones.
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

Result<std::unique_ptr<contract::JoinBackend>> open_cuda_join(CudaDevice& device,
                                                              contract::BackendOptions const& options) {
  using Backend =
      CudaBackend<contract::JoinBackend, contract::JoinKernel, contract::JoinSlice, contract::BackendOptions>;
  return Backend::open(device, options, begin_join);
}

std::uint64_t cuda_join_bytes(std::uint64_t left_rows, std::uint64_t right_rows, std::uint32_t key_bits) {
  // cuda_backend/join/resident_join.cpp. A row: its key, and key and row number after each of two passes. Pairs: two
  // row numbers. Beside them what is of fixed size: where the partitions begin, and the work of blocks.
  constexpr std::uint64_t kFixed = std::uint64_t{4} << 20;
  std::uint64_t const key_bytes = key_bits / 8;
  auto const per_row = key_bytes + 2 * (key_bytes + kNumberBytes);
  auto const pairs = static_cast<double>(std::max(left_rows, right_rows)) * kSlack;
  return (left_rows + right_rows) * per_row + static_cast<std::uint64_t>(pairs) * 2 * kNumberBytes + kFixed;
}

contract::PathRow const kCudaPath{
    .path = Path::cuda,
    .name = "cuda",
    .api = DeviceApi::cuda,
    .asks_permission = true,
    .find_devices = find_cuda_devices,
    .join = {.offers = join_offers,
             .open = [](contract::OpenDevice* device,
                        contract::BackendOptions const& options) { return open_cuda_join(cuda_of(*device), options); }},
    .group_by = {.offers = group_by_offers,
                 .open = [](contract::OpenDevice* device, contract::GroupByBackendOptions const& options) {
                   return open_cuda_group_by(cuda_of(*device), options);
                 }}};

}  // namespace garuda::cuda
