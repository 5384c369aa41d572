// The parts of ECharts that static/js/charts.js draws with. `npm run build` makes one file of them, half of what the
// whole library weighs. tests/js/echarts.test.js names a part that is missing here.
import { BarChart, CandlestickChart, LineChart } from "echarts/charts";
import {
  AriaComponent, // hatches buckets that are not complete
  GridComponent,
  LegendScrollComponent,
  MarkLineComponent,
  TitleComponent,
  TooltipComponent,
} from "echarts/components";
import { use } from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";

use([
  AriaComponent,
  BarChart,
  CandlestickChart,
  LineChart,
  GridComponent,
  LegendScrollComponent,
  MarkLineComponent,
  TitleComponent,
  TooltipComponent,
  CanvasRenderer,
]);

export { getInstanceByDom, init } from "echarts/core";
