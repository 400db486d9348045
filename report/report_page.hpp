// One report as a page.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace garuda::report {

/// A file of HTML, of a report as make_report() gives it.
std::string to_page(nlohmann::ordered_json const& report);

}  // namespace garuda::report
