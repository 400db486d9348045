#include "bench/parts/points_bench.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <memory>
#include <utility>

#include "bench/parts/bare_draws.hpp"
#include "bench/workloads/random.hpp"
#include "bench/workloads/words.hpp"

namespace garuda::bench {
namespace {

constexpr std::array kOrders{Word<PointOrder>{"random", PointOrder::random},
                             Word<PointOrder>{"pixel", PointOrder::pixel}};
constexpr std::array kBlends{Word<PointBlend>{"none", PointBlend::none}, Word<PointBlend>{"add", PointBlend::add}};

Result<void> check(PointsRequest const& request) {
  constexpr std::uint64_t kMaxRows = 0xfffffffe;  // row + 1 is a u32 colour
  if (request.rows == 0 || request.rows > kMaxRows)
    return fail(ErrorCode::usage, fmt::format("--rows out of range [1, 2^32 - 2]: {}", request.rows));
  if (!std::has_single_bit(request.image) || request.image > 32'768)
    return fail(ErrorCode::usage, fmt::format("--image must be a power of two up to 32768: {}", request.image));
  return check(static_cast<Sampling const&>(request));
}

FloorPass make_pass(PointsRequest const& request) {
  auto const num_pixels = std::uint64_t{request.image} * request.image;
  auto const target =
      request.blend == PointBlend::add ? calibrate::PointTarget::add : calibrate::PointTarget::overwrite_2;
  return {"draw", {request.image, request.image, target}, make_words(request.rows, [&](std::uint64_t row) {
            return request.order == PointOrder::pixel ? row % num_pixels
                                                      : RowRandom(request.seed, row).next_below(num_pixels);
          })};
}

}  // namespace

Result<PointOrder> parse_point_order(std::string_view text) { return parse_word("order", kOrders, text); }
Result<PointBlend> parse_point_blend(std::string_view text) { return parse_word("blend", kBlends, text); }

Result<Outcome> run_points_bench(PointsRequest const& request) {
  GARUDA_TRY(check(request));
  std::unique_ptr<BareDraws> draws;
  Contender contender;
  contender.verify = [&](Outcome& outcome) -> Result<void> {
    auto const pass = make_pass(request);
    GARUDA_TRY_ASSIGN(draws, BareDraws::create(request.device, {&pass, 1}));
    auto const& device = draws->device();
    outcome.record = resident_record("points", Path::graphics, device.name(), device.driver(), request.rows);
    outcome.record.bytes = draws->bytes();
    outcome.notes = {fmt::format("image {} x {}, order {}, blend {}; time: {}", request.image, request.image,
                                 word_of(kOrders, request.order), word_of(kBlends, request.blend), device.clock())};
    return {};
  };
  contender.timed.run = [&] { return draws->run(); };
  GARUDA_TRY(measure({&contender, 1}, request));
  return std::move(contender.outcome);
}

}  // namespace garuda::bench
