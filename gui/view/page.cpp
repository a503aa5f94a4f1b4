#include "gui/view/page.h"

#include <QBuffer>
#include <QPixmap>
#include <QWidget>

#include "decoder/base/errors.h"
#include "decoder/base/os/whole_file.h"

namespace headroom::gui {

Export painting_of(QWidget& widget, const QString& name) {
  return {name, QStringLiteral("png"), [&widget](const QString& file) {
            QByteArray bytes;
            QBuffer buffer(&bytes);
            if (!widget.grab().save(&buffer, "PNG"))
              throw DeviceError(file.toStdString() + ": the picture could not be made");
            write_file_whole(file.toStdString(), bytes.toStdString());
          }};
}

Export csv_of(const reports::Table& table, const QString& name) {
  return {name, QStringLiteral("csv"),
          [table](const QString& file) { write_file_whole(file.toStdString(), reports::to_csv(table)); }};
}

}  // namespace headroom::gui
