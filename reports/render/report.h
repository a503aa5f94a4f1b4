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
  std::string heading{};  ///< empty where the section's title says it
  std::vector<std::string> sentences{};
  std::vector<Chart> charts{};
  bool same_axes = false;  ///< the charts are drawn one above another over the same ranges
  std::vector<Table> tables{};
};

struct Section {
  std::string title;
  std::vector<Part> parts;
  bool folded = false;  ///< a page has it below the others: its title, and the rest once that is opened
};

/// One large figure of a page's head.
struct KeyFigure {
  std::string what;  ///< "limit"
  std::string text;  ///< "576.0 MiB"
  double bytes = 0;
  std::string basis;  ///< who says so
  ColourRole colour_role = ColourRole::neutral;
};

/// Head of a page. It has no figures if there is nothing to compare.
struct Headline {
  std::vector<KeyFigure> figures{};
  std::string sentence{};
  std::vector<std::string> basis{};   ///< what the sentence rests on
  std::vector<std::string> beside{};  ///< the other runs and plans, a sentence each
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

struct KnownOfDecoder {
  std::optional<Model> model{};
  std::optional<Dtype> dtype{};
  std::optional<DeviceKind> device{};
};

struct ReportOptions {
  std::string title{};                    ///< empty: made from the files
  std::optional<int64_t> limit_bytes{};   ///< another limit to draw
  std::optional<AskedDecoder> decoder{};  ///< Headroom's need is computed for it
  /// Known properties of the decoder, if `decoder` is empty. The rest is guessed from the recording.
  KnownOfDecoder known{};
  std::string
      recorded_device{};  ///< "cuda:1": of recordings this one; empty: all, with need beside the main one
  bool quick = false;     ///< without solving: no remedies, no scaling
  /// Called with the share done and the name of the current work.
  std::function<void(double, const std::string&)> progress = [](double, const std::string&) {};
};

/// `documents` has at least one. Sections that the files have nothing for are left out.
Report make_report(const std::vector<DocumentPtr>& documents, const ReportOptions& options);

/// A column's title behind its group's, for writers that have one line of headings.
std::string heading_of(const Column& column);

size_t count_charts(const Report& report);
size_t count_tables(const Report& report);

/// One page that needs nothing else: no script to read it, no network, light and dark and print.
std::string to_html(const Report& report);
/// Sentences and tables. Names each chart that it leaves out.
std::string to_markdown(const Report& report);
/// All tables as one long one (docs/formats.md): section, row, column, value, unit.
std::string to_long_csv(const Report& report);
/// Titles, sentences and tables with full numbers.
nlohmann::json to_json(const Report& report);

}  // namespace headroom::reports
