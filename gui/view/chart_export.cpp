#include <qcustomplot.h>

#include <QBuffer>
#include <QFileInfo>
#include <QPdfWriter>
#include <QSvgGenerator>

#include "decoder/graph/errors.h"
#include "decoder/outputs/whole_file.h"
#include "gui/model/figure_text.h"
#include "gui/view/chart_view.h"

namespace headroom::gui {
namespace {

/// As much as the screen shows, at least a page's width.
QSize size_of(const QCustomPlot& plot) {
  return {std::max(plot.width(), 640), std::max(plot.height(), 320)};
}

void paint(QCustomPlot& plot, QPaintDevice& device, const QSize& size) {
  QCPPainter painter(&device);
  painter.setMode(QCPPainter::pmVectorized);
  painter.setMode(QCPPainter::pmNoCaching);
  plot.toPainter(&painter, size.width(), size.height());
}

QByteArray png_of(QCustomPlot& plot) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  const QSize size = size_of(plot);
  plot.toPixmap(size.width(), size.height(), 2).save(&buffer, "PNG");
  return bytes;
}

QByteArray svg_of(QCustomPlot& plot, const QString& title) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  QSvgGenerator generator;
  generator.setOutputDevice(&buffer);
  const QSize size = size_of(plot);
  generator.setSize(size);
  generator.setViewBox(QRect(QPoint(), size));
  generator.setTitle(title);
  paint(plot, generator, size);
  return bytes;
}

QByteArray pdf_of(QCustomPlot& plot, const QString& title) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  QPdfWriter writer(&buffer);
  const QSize size = size_of(plot);
  writer.setTitle(title);
  writer.setResolution(72);  // a point for each pixel
  writer.setPageSize(QPageSize(QSizeF(size), QPageSize::Point));
  writer.setPageMargins({});
  paint(plot, writer, size);
  return bytes;
}

}  // namespace

Export ChartView::exporter(const QString& name) {
  return {name,
          {QStringLiteral("png"), QStringLiteral("svg"), QStringLiteral("pdf")},
          [this](const QString& file) {
            const QString suffix = QFileInfo(file).suffix().toLower();
            const QString title = figure_text(chart_.title);
            const QByteArray bytes = suffix == QLatin1String("svg")   ? svg_of(*plot_, title)
                                     : suffix == QLatin1String("pdf") ? pdf_of(*plot_, title)
                                                                      : png_of(*plot_);
            if (bytes.isEmpty()) throw DeviceError(file.toStdString() + ": the picture could not be made");
            write_file_whole(file.toStdString(), bytes.toStdString());
          }};
}

}  // namespace headroom::gui
