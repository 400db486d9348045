#include "operators/cuda/cuda_join.hpp"
#include "operators/contract/join_kernel.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "operators/cuda/cuda_lane.hpp"

namespace garuda::cuda {
namespace {

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

}  // namespace

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

}  // namespace garuda::cuda
