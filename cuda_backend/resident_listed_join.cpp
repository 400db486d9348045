#include <algorithm>
#include <span>
#include <utility>

#include "cuda_backend/matches.hpp"
#include "cuda_backend/resident_join.hpp"
#include "cuda_backend/status.hpp"

namespace garuda::cuda_backend {
namespace {

/// Pairs whose rows are written out at a time: so many that starting the kernels costs nothing beside them.
constexpr std::uint64_t kPiecePairs = std::uint64_t{1} << 26;

template <class Key>
class ListedJoin final : public ResidentJoin {
 public:
  ListedJoin(Lane& lane, GarudaCudaResidentTable const& left, GarudaCudaResidentTable const& right,
             std::uint64_t expected_rows, GarudaCudaJoinMethod method)
      : lane_(lane),
        launch_{lane.stream(), lane.device().traits().multiprocessors},
        method_(method),
        result_(lane, left, right, expected_rows),
        build_is_left_(left.rows <= right.rows),
        build_(build_is_left_ ? left : right),
        probe_(build_is_left_ ? right : left) {}
  ~ListedJoin() override { lane_.drain(); }

  Result<GarudaCudaResidentRows> run() override;

 private:
  static Key const* keys_of(GarudaCudaResidentTable const& table) {
    return reinterpret_cast<Key const*>(table.key.address);
  }
  Result<void> write(Matches<Key> const& matches, std::uint64_t pairs);
  Result<void> write_columns(GarudaCudaResidentTable const& table, std::span<Buffer const> out,
                             std::uint32_t const* rows, std::uint64_t first, std::uint64_t count);
  Result<void> write_column(GarudaCudaColumn const& column, Buffer const& out, std::uint32_t const* rows,
                            std::uint64_t first, std::uint64_t count);

  Lane& lane_;
  Launch launch_;
  GarudaCudaJoinMethod method_;
  ResidentResult result_;
  bool build_is_left_;
  GarudaCudaResidentTable build_;
  GarudaCudaResidentTable probe_;
};

template <class Key>
Result<void> ListedJoin<Key>::write_column(GarudaCudaColumn const& column, Buffer const& out, std::uint32_t const* rows,
                                           std::uint64_t first, std::uint64_t count) {
  if (column.bytes == 4) {
    GARUDA_CUDA_TRY(gather(launch_, reinterpret_cast<std::uint32_t const*>(column.address), rows, count,
                           out.as<std::uint32_t>() + first));
  } else {
    GARUDA_CUDA_TRY(gather(launch_, reinterpret_cast<std::uint64_t const*>(column.address), rows, count,
                           out.as<std::uint64_t>() + first));
  }
  return {};
}

template <class Key>
Result<void> ListedJoin<Key>::write_columns(GarudaCudaResidentTable const& table, std::span<Buffer const> out,
                                            std::uint32_t const* rows, std::uint64_t first, std::uint64_t count) {
  for (std::uint32_t c = 0; c < table.num_columns; ++c)
    GARUDA_TRY(write_column(table.columns[c], out[c], rows, first, count));
  return {};
}

template <class Key>
Result<void> ListedJoin<Key>::write(Matches<Key> const& matches, std::uint64_t pairs) {
  GARUDA_TRY(lane_.step("gather", 0, pairs));
  auto const piece = std::min(pairs, kPiecePairs);
  GARUDA_TRY_ASSIGN(auto const build_rows, lane_.allocate(piece * 4, "build rows of pairs"));
  GARUDA_TRY_ASSIGN(auto const probe_rows, lane_.allocate(piece * 4, "probe rows of pairs"));
  auto* const build_words = build_rows.template as<std::uint32_t>();
  auto* const probe_words = probe_rows.template as<std::uint32_t>();
  for (std::uint64_t first = 0; first < pairs; first += piece) {
    auto const count = std::min(piece, pairs - first);
    GARUDA_CUDA_TRY(write_pair_rows(launch_, matches.list(build_is_left_), first, count, build_words, probe_words));
    GARUDA_TRY(write_column(probe_.key, result_.keys(), probe_words, first, count));
    auto const left = result_.left();
    auto const right = result_.right();
    GARUDA_TRY(write_columns(build_, build_is_left_ ? left : right, build_words, first, count));
    GARUDA_TRY(write_columns(probe_, build_is_left_ ? right : left, probe_words, first, count));
  }
  return lane_.wait();
}

template <class Key>
Result<GarudaCudaResidentRows> ListedJoin<Key>::run() {
  GARUDA_TRY(result_.take_room());
  if (build_.rows == 0) return result_.rows(0);
  Matches<Key> matches(lane_, method_, static_cast<std::uint32_t>(build_.rows),
                       static_cast<std::uint32_t>(probe_.rows));
  GARUDA_TRY(matches.add_build(keys_of(build_)));
  GARUDA_TRY(matches.add_probe(keys_of(probe_)));
  GARUDA_TRY_ASSIGN(auto const pairs, matches.count());
  GARUDA_TRY(result_.take_room(pairs));
  if (pairs > 0) GARUDA_TRY(write(matches, pairs));
  return result_.rows(pairs);
}

}  // namespace

template <class Key>
std::unique_ptr<ResidentJoin> make_listed_join(Lane& lane, GarudaCudaResidentTable const& left,
                                               GarudaCudaResidentTable const& right, std::uint64_t expected_rows,
                                               GarudaCudaJoinMethod method) {
  return std::make_unique<ListedJoin<Key>>(lane, left, right, expected_rows, method);
}

#define GARUDA_LISTED_JOIN(Key)                                 \
  template std::unique_ptr<ResidentJoin> make_listed_join<Key>( \
      Lane&, GarudaCudaResidentTable const&, GarudaCudaResidentTable const&, std::uint64_t, GarudaCudaJoinMethod)
GARUDA_LISTED_JOIN(std::uint32_t);
GARUDA_LISTED_JOIN(std::uint64_t);

}  // namespace garuda::cuda_backend
