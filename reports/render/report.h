#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "reports/figures/chart.h"
#include "reports/figures/document.h"
#include "reports/figures/table.h"

namespace headroom::reports {

/// Contents under one heading.
struct Part {
  std::string heading{};  ///< empty: the section's title is enough
  std::vector<std::string> sentences{};
  std::vector<Chart> charts{};
  bool same_axes = false;  ///< the charts share the ranges of their axes
  std::vector<Table> tables{};
};

struct Section {
  std::string title;
  std::vector<Part> parts;
  bool folded = false;  ///< shown at the end of a page, with its contents collapsed
};

/// One large figure of a page's head.
struct KeyFigure {
  std::string what;  ///< "limit"
  std::string text;  ///< "576.0 MiB"
  double bytes = 0;
  std::string basis;  ///< source of the figure
  ColourRole colour_role = ColourRole::neutral;
};

/// Head of a page. It has no figures if there is nothing to compare.
struct Headline {
  std::vector<KeyFigure> figures{};
  std::string sentence{};
  std::vector<std::string> basis{};   ///< sources of the sentence's figures
  std::vector<std::string> beside{};  ///< one sentence for each other run or plan
};

/// Contents of a report, in the order of the page. Texts are not escaped; each writer escapes them.
struct Report {
  std::string title;
  std::vector<Section> sections;
  size_t files = 0;
  Headline headline{};
};

/// A decoder and a size to compare with a recorded decode.
struct AskedDecoder {
  Model model;
  Request request;
};

struct ReportOptions {
  std::string title{};                    ///< empty: made from the files
  std::optional<int64_t> limit_bytes{};   ///< an additional limit to draw
  std::optional<AskedDecoder> decoder{};  ///< Headroom's need is computed for it
  /// Device of recordings to report: "cuda:1". Empty: all devices, with the need beside the main one.
  std::string recorded_device{};
  bool quick = false;  ///< no planning: without remedies and scaling
  /// Called with the share done and the name of the current work.
  std::function<void(double, const std::string&)> progress = [](double, const std::string&) {};
};

/// `documents` must not be empty. Omits sections without data.
Report make_report(const std::vector<DocumentPtr>& documents, const ReportOptions& options);

/// A column's title after its group's title, for writers with a single heading row.
std::string heading_of(const Column& column);

size_t count_charts(const Report& report);
size_t count_tables(const Report& report);

/// One self-contained page. It needs no script and no network. It supports light, dark and print.
std::string to_html(const Report& report);
/// Sentences and tables. Names each chart that it leaves out.
std::string to_markdown(const Report& report);
/// All tables in one long format (docs/formats.md): section, row, column, value, unit.
std::string to_long_csv(const Report& report);
/// Titles, sentences and tables with full numbers.
nlohmann::json to_json(const Report& report);

}  // namespace headroom::reports
