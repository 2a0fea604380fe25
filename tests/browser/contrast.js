// The words on the page whose colour is too near to that behind them, as HTML: WCAG 2.2, 1.4.3.
// axe finds that too, in ten times as long. What lies behind words is told by the elements around them;
// words on a picture are left out, as axe leaves them out. Where both were tried (docs/testing.md), this found
// all that axe did.
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
  const sheet = matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255];
  const upwards = (element) => (element ? [element, ...upwards(element.parentElement)] : []);
  // Whether words lie on a picture: nothing opaque is between them and it.
  const onPicture = (element) => {
    const styles = upwards(element).map((each) => getComputedStyle(each));
    const opaque = styles.findIndex((style) => read(style.backgroundColor)[3] === 1);
    return styles.slice(0, opaque < 0 ? undefined : opaque + 1).some((style) => style.backgroundImage !== "none");
  };
  // The colours of an element's words and of what is behind them, where the elements lead to it from outside.
  const painted = ([element, ...further], below) => {
    const style = getComputedStyle(element);
    const behind = over(read(style.backgroundColor), below);
    const words = read(element instanceof SVGElement ? style.fill : style.color);
    const inside = further.length ? painted(further, behind) : [over(words, behind), behind];
    return inside.map((colour) => over([...colour, Number(style.opacity)], below));
  };
  const shows = (element) => {
    const { width, height } = element.getBoundingClientRect();
    return (
      width > 1 &&
      height > 1 &&
      element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) &&
      !element.closest(".overlay, .frame svg, :disabled, [aria-disabled=true], [inert]")
    );
  };
  const worded = (element) =>
    element.matches("select, textarea, input:not([type=checkbox], [type=radio], [type=range])") ||
    [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && /\S/.test(node.data));
  const tooFaint = (element) => {
    if (onPicture(element)) return false;
    const [less, more] = painted(upwards(element).reverse(), sheet).map(luminance).sort((one, other) => one - other);
    const style = getComputedStyle(element);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    return (more + 0.05) / (less + 0.05) < (large ? 3 : 4.5);
  };
  return [...document.body.querySelectorAll("*")]
    .filter((element) => worded(element) && shows(element) && tooFaint(element))
    .map((element) => element.outerHTML);
}
