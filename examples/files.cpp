// A query over files: customers with their orders' total, of those that were placed since a day.
//
// The files are read when the query runs: the columns that it names and, of Parquet files, the row groups that may have
// rows which it needs. Without arguments the example writes a file of its own.
//
//     files [FILES]    a file, a folder or a pattern, with columns customer, day (a date) and price
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "garuda/garuda.hpp"
#include "io/row_format.hpp"
#include "io/scan_files.hpp"

namespace {

using namespace garuda;

/// The days from 1970-01-01 to 2024-01-01.
constexpr std::int64_t kFirstDay = 19'723;

std::string write_orders() {
  auto const file = std::filesystem::temp_directory_path() / "garuda_example_orders.csv";
  std::ofstream(file) << "customer,day,price\nAda,2024-02-03,10.50\nBo,2023-12-31,99.00\n"
                         "Ada,2024-05-06,8.00\nBo,2024-01-01,3.25\n";
  return file.string();
}

Result<Table> totals(Engine& engine, std::string const& files) {
  GARUDA_TRY_ASSIGN(auto orders, io::scan_files(files));
  auto const query =
      Query::scan(std::move(orders))
          .filter(call("gte", {column("day"), literal(Literal{{TypeId::date32}, kFirstDay})}))
          .group_by({{"customer", column("customer")}}, {{"total", AggregateFunction::sum, {column("price")}}})
          .sort({{column("total"), true}})
          .limit(10);
  GARUDA_TRY_ASSIGN(auto const result, engine.run(query, {}));
  return collect(*result);
}

Result<void> print(Table const& rows) {
  for (auto const& batch : rows.batches()) {
    GARUDA_TRY_ASSIGN(auto const lines, io::format_rows(rows.schema(), batch, batch.num_rows));
    for (auto const& line : lines) std::cout << line[0] << " " << line[1] << "\n";
  }
  return {};
}

Result<void> run(std::string const& files) {
  GARUDA_TRY_ASSIGN(auto engine, Engine::create());
  GARUDA_TRY_ASSIGN(auto const rows, totals(engine, files));
  return print(rows);
}

}  // namespace

int main(int num_arguments, char** arguments) {
  auto const done = run(num_arguments > 1 ? arguments[1] : write_orders());
  if (done) return EXIT_SUCCESS;
  std::cerr << done.error().describe() << "\n";
  return EXIT_FAILURE;
}
