#include "bench/record.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace garuda::bench {
namespace {

Record join_record() {
  Record record;
  record.op = "join";
  record.path = "graphics";
  record.device = "a \"GPU\"";
  record.driver = "driver 1.2";
  record.mode = "end-to-end";
  record.rows_left = 1000;
  record.rows_right = 3000;
  record.rows_out = 3000;
  record.time = {2'000, 10, 1'900, 2'200, 7};
  record.bytes = 8'000;
  record.phases = {{"build", 700, 64, 1000}};
  record.verified = true;
  return record;
}

TEST(Record, WritesTheFieldsOfTheDesignInOrder) {
  auto const line = to_json_line(join_record());
  EXPECT_EQ(line, R"({"op":"join","path":"graphics","device":"a \"GPU\"","driver":"driver 1.2","mode":"end-to-end",)"
                  R"("rows_left":1000,"rows_right":3000,"rows_out":3000,"median_ns":2000,"mad_ns":10,"min_ns":1900,)"
                  R"("max_ns":2200,"samples":7,"rows_per_s":2000000000.0,"bytes_per_s":4000000000.0,)"
                  R"("phases":[{"name":"build","ns":700,"bytes":64}],"verified":true})");
}

TEST(Record, OperationsOnOneTableHaveRows) {
  auto record = join_record();
  record.rows_left.reset();
  record.rows_right.reset();
  record.rows = 500;
  auto const json = nlohmann::json::parse(to_json_line(record));
  EXPECT_EQ(json.at("rows"), 500);
  EXPECT_FALSE(json.contains("rows_left"));
  EXPECT_EQ(json.at("rows_per_s"), 250'000'000);
}

TEST(Record, TextNamesModeDeviceDriverRowsAndSpread) {
  auto const text = to_text(join_record(), CopyBandwidth{"host copy", 8e9});
  for (auto const* part : {"graphics", "a \"GPU\"", "driver 1.2", "end-to-end", "1000 x 3000 rows -> 3000", "verified",
                           "2 us", "MAD", "7 samples", "2 Grows/s", "50 % of host copy", "build 700 ns [1000]"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

TEST(Record, FormatsUnits) {
  EXPECT_EQ(format_ns(999), "999 ns");
  EXPECT_EQ(format_ns(1'500), "1.5 us");
  EXPECT_EQ(format_ns(12'345'678), "12.35 ms");
  EXPECT_EQ(format_ns(4'560'000'000), "4.56 s");
  EXPECT_EQ(format_rate(1.234e9), "1.23 G");
  EXPECT_EQ(format_rate(12), "12 ");
}

}  // namespace
}  // namespace garuda::bench
