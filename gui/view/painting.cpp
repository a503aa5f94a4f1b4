#include "gui/view/painting.h"

#include <QBuffer>
#include <QFileInfo>
#include <QPainter>
#include <QPdfWriter>
#include <QSvgGenerator>
#include <QWidget>

#include "decoder/graph/errors.h"
#include "decoder/outputs/whole_file.h"

namespace headroom::gui {
namespace {

void render(QWidget& widget, QPaintDevice& device) {
  QPainter painter(&device);
  widget.render(&painter, {}, {}, QWidget::DrawWindowBackground | QWidget::DrawChildren);
}

QByteArray picture_of(QWidget& widget, const QString& suffix) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  if (suffix == QLatin1String("svg")) {
    QSvgGenerator generator;
    generator.setOutputDevice(&buffer);
    generator.setSize(widget.size());
    generator.setViewBox(widget.rect());
    render(widget, generator);
  } else if (suffix == QLatin1String("pdf")) {
    QPdfWriter writer(&buffer);
    writer.setResolution(72);  // a point for each pixel
    writer.setPageSize(QPageSize(QSizeF(widget.size()), QPageSize::Point));
    writer.setPageMargins({});
    render(widget, writer);
  } else {
    QImage image(widget.size() * 2, QImage::Format_RGB32);
    image.setDevicePixelRatio(2);
    render(widget, image);
    image.save(&buffer, "PNG");
  }
  return bytes;
}

}  // namespace

Export painting_of(QWidget& widget, const QString& name) {
  return {name,
          {QStringLiteral("png"), QStringLiteral("svg"), QStringLiteral("pdf")},
          [&widget](const QString& file) {
            const QByteArray bytes = picture_of(widget, QFileInfo(file).suffix().toLower());
            if (bytes.isEmpty()) throw DeviceError(file.toStdString() + ": the picture could not be made");
            write_file_whole(file.toStdString(), bytes.toStdString());
          }};
}

}  // namespace headroom::gui
