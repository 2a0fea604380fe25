// Parts of a page that change together with another part of it, once that was fetched again: they have
// [data-follows] and an id.

// Puts `fresh` in the place of `shown`, unless somebody is about to press one of its buttons.
export const replacePart = (shown, fresh) => {
  if (shown && fresh && !shown.contains(document.activeElement)) shown.replaceWith(document.adoptNode(fresh));
};

// Takes these parts from `page`, the same page as it is now.
export const replaceFollowing = (page) => {
  for (const shown of document.querySelectorAll("[data-follows]")) replacePart(shown, page.getElementById(shown.id));
};
