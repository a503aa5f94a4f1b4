#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "reports/render/markup.h"
#include "reports/render/page_style.h"
#include "reports/render/report.h"
#include "tests/reports/render/page_reader.h"

namespace headroom::reports {
namespace {

using test::Element;
using test::PageReader;
using test::PageTable;

/// Texts that try to be more than text.
const std::vector<std::string> kHostile{
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "</style></script></svg>",
    "a|b\nc\r\n| d |",
    "`code` *bold* [link](http://example.org) ![](x) www.example.org",
    "&lt;script&gt;",
    "=1+2",
    "@SUM(A1)",
    "invalid \xff\xfe \xc0\xaf \xed\xa0\x80 \xf8\x88\x80\x80\x80 end \xe2\x82",
    std::string("zero \0 byte \x1b[31m", 17),
    "right to left \xe2\x80\xae gnp.exe \xe2\x80\xa8 line \xc2\x85 next \xef\xbb\xbf",
    "中文 é 😀"};

Report report_of(Table table) {
  Part part;
  part.tables.push_back(std::move(table));
  return {"A report", {{"A section", {std::move(part)}}}, 1};
}

Table number_table(size_t rows) {
  Table table{"Numbers", {}, {}};
  table.columns = {
      {.title = "name", .is_text = true},
      {.title = "peak",
       .unit = Unit::bytes,
       .bars = true,
       .explanation = "What is needed.",
       .group = "512×512"},
      {.title = "time", .unit = Unit::seconds, .explanation = "What it takes.", .group = "512×512"},
      {.title = "peak", .unit = Unit::bytes, .explanation = "What is needed.", .group = "1024×1024"}};
  for (size_t i = 0; i < rows; ++i) {
    table.rows.push_back(
        {{"row " + std::to_string(i), double(1000 * i + 1), 1.0 / (double(i) + 3), double(i) * 1e12},
         i == 2});
  }
  return table;
}

TEST_CASE("escape: clean text is valid UTF-8 on one line") {
  CHECK(clean_text("a\tb\nc") == "a b c");
  CHECK(clean_text(std::string("a\0b\x1b[0m\x7f", 8)) == "ab[0m");
  CHECK(clean_text("é 中 😀 ×") == "é 中 😀 ×");
  CHECK(clean_text("\xc2\x80\xc2\x9f\xe2\x80\xae\xe2\x81\xa6\xef\xbb\xbfx") == "x");
  CHECK(clean_text("\xff") == "\xEF\xBF\xBD");
  CHECK(clean_text("a\xe2\x82") == "a\xEF\xBF\xBD\xEF\xBF\xBD");  // cut off
  CHECK(clean_text("\xc0\xaf") == "\xEF\xBF\xBD\xEF\xBF\xBD");    // not the shortest form
  CHECK(clean_text("\xed\xa0\x80").size() == 9);                  // a surrogate
  CHECK(clean_text("\xf4\x90\x80\x80").size() == 12);             // beyond U+10FFFF
  CHECK(html_text("<a href=\"x\">'&'</a>") == "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
  CHECK(markdown_text("a|b`c`<d>") == "a\\|b\\`c\\`&lt;d&gt;");
  CHECK(markdown_text("decoder.up_blocks.0_x") == "decoder.up_blocks.0_x");
  CHECK(markdown_text("_x_") == "\\_x\\_");
  CHECK(markdown_text("- 1. # x") == "\\- 1. \\# x");
  CHECK(markdown_text("12. x") == "12\\. x");
  CHECK(markdown_text("https://a.b") == "https&#58;//a.b");
}

TEST_CASE("page: hostile texts stay texts wherever they stand") {
  for (const std::string& text : kHostile) {
    CAPTURE(text);
    Table table{text, {}, {}};
    table.columns = {{.title = text, .is_text = true, .explanation = text, .group = text},
                     {.title = text, .unit = Unit::bytes, .bars = true}};
    for (int i = 0; i < 50; ++i) table.rows.push_back({{text, 5.0}, i == 0});
    Chart chart;
    chart.title = text;
    chart.x = {text, Unit::seconds};
    chart.y = {text, Unit::bytes};
    chart.series = {{text, Mark::area, ColourRole::tile, {0, 1}, {1, 2}},
                    {text, Mark::line, ColourRole::kept, {0, 1}, {1, 2}}};
    chart.guides = {{text, 1.5}, {text, 0.5, true}};
    chart.notes = {{0.5, 1, text}};
    chart.spans = {{0, 1, text}};
    Part part;
    part.heading = text;
    part.sentences = {text, text};
    part.charts = {chart};
    part.tables = {table};
    const Report report{text, {{text, {part}}}, 1};

    const std::string html = to_html(report);
    std::unique_ptr<Element> page;
    REQUIRE_NOTHROW(page = PageReader::read(html));
    CHECK(page->all("script").size() == 1);
    CHECK(page->all("img").empty());
    CHECK(page->first("h1").own_text == clean_text(text));
    CHECK(page->first("h3").own_text == clean_text(text));
    CHECK(page->first("tbody").first("th").own_text == clean_text(text));
    for (const char c : html) CHECK_FALSE((static_cast<unsigned char>(c) < 0x20 && c != '\n'));
    CHECK(clean_text(html).size() == html.size());  // nothing invalid is left

    const std::string markdown = to_markdown(report);
    CHECK(markdown.find("<script") == std::string::npos);
    CHECK(markdown.find("<img") == std::string::npos);
    CHECK(clean_text(markdown).size() == markdown.size());
    size_t lines = 0;
    for (size_t at = 0; (at = markdown.find("\n|", at)) != std::string::npos; ++at, ++lines) {
      size_t bars = 0;
      for (size_t i = at + 1; markdown[i] != '\n'; ++i) bars += markdown[i] == '|' && markdown[i - 1] != '\\';
      CHECK(bars == 3);
    }
    CHECK(lines == 52);

    const std::string csv = to_long_csv(report);
    CHECK(std::count(csv.begin(), csv.end(), '\n') == 1 + 50 * 2);
    CHECK(clean_text(csv).size() == csv.size());
    CHECK(csv.find(",=") == std::string::npos);
    CHECK(csv.find(",@") == std::string::npos);
    CHECK_NOTHROW(to_json(report).dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  }
}

TEST_CASE("page: a table has its numbers in full, its heads and its groups") {
  const Table table = number_table(45);
  const auto page = PageReader::read(to_html(report_of(table)));
  const std::vector<PageTable> tables = test::tables_of(*page);
  REQUIRE(tables.size() == 1);
  CHECK(tables[0].caption == "Numbers");
  CHECK(tables[0].heads == std::vector<std::string>{"name", "peak", "time", "peak"});
  CHECK(tables[0].groups == std::vector<std::string>{"", "512×512", "512×512", "1024×1024"});
  REQUIRE(tables[0].rows.size() == 45);
  CHECK(tables[0].shown_rows == 40);
  for (size_t row = 0; row < table.rows.size(); ++row) {
    for (size_t c = 0; c < table.columns.size(); ++c) {
      const Element& cell = *tables[0].rows[row][c];
      CHECK(cell.own_text == cell_text(table.columns[c], table.rows[row].cells[c]));
      if (c > 0) CHECK(std::stod(cell.attribute("data-value")) == std::get<double>(table.rows[row].cells[c]));
    }
  }
  // For those who do not see it: what a row and a column are about.
  CHECK(tables[0].rows[0][0]->name == "th");
  CHECK(tables[0].rows[0][0]->attribute("scope") == "row");
  for (const Element* head : page->first("thead").all("th"))
    CHECK((head->attribute("scope") == "col" || head->attribute("scope") == "colgroup"));
  CHECK(page->first("tbody").all("tr")[2]->attribute("class") == "stands-out");
  // The bar is as long as the number beside the column's largest, 44001.
  CHECK(tables[0].rows[22][1]->attribute("style") == "--part:0.500");
  CHECK(tables[0].rows[22][2]->attribute("style").empty());
  // An explanation that two columns share stands once.
  CHECK(page->all("dt").size() == 2);
  CHECK(page->first("summary").own_text == "5 more rows");
}

TEST_CASE("page: columns of one title and two meanings are explained with their groups") {
  Table table{"Remedies", {}, {}};
  table.columns = {{.title = "time", .explanation = "Of the smallest plan."},
                   {.title = "time", .explanation = "Of the fastest plan.", .group = "fastest"},
                   {.title = "peak", .explanation = "Of the fastest plan.", .group = "fastest"}};
  table.rows.push_back({{1.0, 2.0, 3.0}, false});
  const auto page = PageReader::read(to_html(report_of(table)));
  std::vector<std::string> titles;
  for (const Element* title : page->all("dt")) titles.push_back(title->own_text);
  CHECK(titles == std::vector<std::string>{"time", "time, fastest", "peak"});
}

TEST_CASE("page: nothing comes from elsewhere, and it reads without a script") {
  const auto page = PageReader::read(to_html(report_of(number_table(3))));
  CHECK(page->first("html").attribute("lang") == "en");
  const Element* policy = nullptr;
  for (const Element* meta : page->all("meta")) {
    if (meta->attribute("http-equiv") == "Content-Security-Policy") policy = meta;
  }
  REQUIRE(policy != nullptr);
  CHECK(policy->attribute("content") == "default-src 'none'; style-src 'unsafe-inline'; script-src '" +
                                            std::string(page_script_hash()) + "'; img-src data:");
  for (const char* name : {"link", "iframe", "object", "img", "image", "use", "base", "form"})
    CHECK(page->all(name).empty());
  for (const Element* link : page->all("a")) {
    CHECK(link->attribute("href").starts_with("#"));
    const std::string id = link->attribute("href").substr(1);
    bool found = false;
    for (const Element* section : page->all("section")) found = found || section->attribute("id") == id;
    CHECK(found);
  }
  CHECK(page->first("style").own_text.find("url(") == std::string::npos);
}

TEST_CASE("page: charts of one part are drawn over the same axes where it says so") {
  Chart chart;
  chart.x = {"time", Unit::seconds};
  chart.y = {"memory", Unit::bytes};
  chart.series = {{"tiles", Mark::area, ColourRole::tile, {0, 1}, {1000, 1000}}};
  chart.guides = {{"limit", 1500}};
  Part part;
  part.charts = {chart, chart};
  part.charts[1].series[0].y = {5000, 5000};
  for (const bool same : {true, false}) {
    part.same_axes = same;
    const auto page = PageReader::read(to_html({"A report", {{"A section", {part}}}, 1}));
    std::vector<std::string> heights;
    for (const Element* line : page->all("line")) {
      if (line->attribute("class").ends_with("guide")) heights.push_back(line->attribute("y1"));
    }
    REQUIRE(heights.size() == 2);
    CHECK((heights[0] == heights[1]) == same);
  }
}

TEST_CASE("page: numbers that are none are empty cells") {
  Table table{"Odd", {}, {}};
  table.columns = {{.title = "n", .unit = Unit::bytes, .bars = true}, {.title = "t", .is_text = true}};
  table.rows = {{{std::nan(""), std::monostate{}}, false},
                {{std::numeric_limits<double>::infinity(), ""}, false},
                {{-5.5, "x"}, false}};
  const auto page = PageReader::read(to_html(report_of(table)));
  const PageTable read = test::tables_of(*page).at(0);
  CHECK(read.rows[0][0]->own_text.empty());
  CHECK(read.rows[1][0]->attribute("data-value").empty());
  CHECK(read.rows[2][0]->attribute("data-value") == "-5.5");
  CHECK(read.rows[2][0]->attribute("style") == "--part:0.000");
}

TEST_CASE("csv: one line for each cell, numbers in full") {
  const std::string csv = to_long_csv(report_of(number_table(2)));
  CHECK(csv ==
        "section,row,column,value,unit\r\n"
        "A section: Numbers,0,name,row 0,text\r\n"
        "A section: Numbers,0,512×512 peak,1,bytes\r\n"
        "A section: Numbers,0,512×512 time,0.3333333333333333,seconds\r\n"
        "A section: Numbers,0,1024×1024 peak,0,bytes\r\n"
        "A section: Numbers,1,name,row 1,text\r\n"
        "A section: Numbers,1,512×512 peak,1001,bytes\r\n"
        "A section: Numbers,1,512×512 time,0.25,seconds\r\n"
        "A section: Numbers,1,1024×1024 peak,1000000000000,bytes\r\n");
}

TEST_CASE("layers have their short names on pages, and full ones in tooltips and in what programs read") {
  const std::string full = "decoder.up_blocks.3.resnets.1.conv1";
  Table table = number_table(1);
  table.rows[0].cells[0] = "tiles of " + full;
  const Report report = report_of(table);
  const std::string page = to_html(report), text = to_markdown(report);
  CHECK_THAT(page, Catch::Contains("title=\"tiles of " + full + "\"") &&
                       Catch::Contains(">tiles of up3.res1.conv1</th>"));
  CHECK_THAT(text, Catch::Contains("| tiles of up3.res1.conv1 |") && !Catch::Contains("decoder."));
  CHECK_THAT(to_long_csv(report), Catch::Contains(full));
}

TEST_CASE("markdown: tables with what stands out in bold, and charts named where they are left out") {
  Report report = report_of(number_table(3));
  Chart chart;
  chart.title = "Memory";
  report.sections[0].parts[0].charts.push_back(chart);
  const std::string text = to_markdown(report);
  CHECK_THAT(text, Catch::Contains("# A report\n\n## A section\n"));
  CHECK_THAT(text, Catch::Contains(
                       "| name | 512×512 peak | 512×512 time | 1024×1024 peak |\n|---|---:|---:|---:|\n"));
  CHECK_THAT(text, Catch::Contains("| row 1 | 1.0 KiB | 250.0 ms |"));
  CHECK_THAT(text, Catch::Contains("| **row 2** | **2.0 KiB** | **200.0 ms** |"));
  CHECK_THAT(text, Catch::Contains("Only a report in HTML draws the chart “Memory”"));
}

}  // namespace
}  // namespace headroom::reports
